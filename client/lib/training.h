/* training.h: the pieces of one capture(kind) and one restore(kind). */
#ifndef LIB_TRAINING_H
#define LIB_TRAINING_H

#include "lib/capture.h"

/* ---- dtypes.c, dtypes_model.c: the record of storage dtypes (PROTOCOL.md, "Dtype record") ---- */

/* Walk the trainer's parameters into component DTYPES. Errors: EDTYPES, EINVAL, the walk's. */
int dtypes_capture(struct capture *cap, const struct cairn_trainer *t);
/* The walk and the captured model name the same floating parameters, per id and trainable flag,
 * with the same dtypes and shapes. Entries without an id are outside of it. Errors: EDTYPES,
 * ENOMEM. */
int dtypes_check_model(const struct capture *cap);
/* Says what is wrong with a parameter; returns -CAIRN_EDTYPES. */
int dtypes_wrong(struct err *err, const struct cairn_param *p, const char *what);
/* May the record's dtypes be applied to the trainer? Changes nothing. Errors: EDTYPES, the walk's.
 */
int dtypes_fit(struct cairn *c, const struct cairn_record *r, const struct cairn_trainer *t);
int dtypes_apply(struct cairn *c, const struct cairn_record *r, const struct cairn_trainer *t);

/* ---- window.c: the weighted accumulation window (PROTOCOL.md, "Window") ---- */

/* The window by itself. Errors: EWINDOW. */
int window_check(const struct cairn_window *w, struct err *err);
/* The window and the pending gradients and the model, of one record; model NULL: a contract has
 * judged the gradients. Errors: EWINDOW, ENOMEM. */
int window_check_gradients(const struct cairn_window *w,
                           const struct cairn_reader *gradients,
                           const struct cairn_reader *model,
                           struct err *err);
int window_capture(struct capture *cap, const struct cairn_window *w);
/* Read it out of a record. Errors: EWINDOW. */
int window_read(const struct cairn_record *r, struct cairn_window *ret, struct err *err);

/* ---- restore_verify.c ---- */

/* Have the daemon read and check all that is stored of the record. Errors: ECORRUPT, naming the
 * first that is damaged; as cairn_verify. */
int restore_verify(struct cairn *c, const struct cairn_record *r);

/* ---- ties.c ---- */

/* Several paths of the model may share an id; then they are one parameter, per trainable flag.
 * Errors: EINVAL, ENOMEM. */
int ties_check(const struct cairn_reader *model, struct err *err);
/* What of the form of two entries differs, as a word; NULL: nothing. */
const char *ties_differ_in_form(const struct entry *a, const struct entry *b);
/* Says that two entries of one parameter differ in that. Returns -CAIRN_EINVAL. */
int ties_refuse(const struct entry *a, const struct entry *b, const char *what, struct err *err);

#endif
