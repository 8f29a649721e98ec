/* retry_trainer.h: the state that retry_trainer and test_retry.c share: 13 MiB in several chunks.
 */
#ifndef SYSTEM_RETRY_TRAINER_H
#define SYSTEM_RETRY_TRAINER_H

#include "support/sample.h"

static const struct sample_tensors retry_model = { .count = 2, .tensor_bytes = 4u << 20 };
static const struct sample_tensors retry_optimizer = { .count = 5, .tensor_bytes = 1u << 20 };

#endif
