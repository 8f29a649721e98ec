/* continue_trainer: a small trainer in a process of its own, to be killed; one word at a time.
 *
 *   continue_trainer SOCKET RUN OPTIMIZER SCHEDULER MODE SEED WORD...
 *   train=N     N microbatches, with a line for each of them and for each update
 *   save        capture and save; "saved"
 *   load        restore the newest boundary; "loaded"
 *   print       every piece of its state, a line each
 *   wait        "waiting", until killed
 *
 * SEED says what it begins as: after a load nothing of that may be left. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/trainers/trainer.h"

static int continue_failed(struct cairn *c, int rc)
{
    (void)fprintf(stderr, "continue_trainer: %s: %s\n", cairn_strerror(rc), cairn_error(c));
    (void)printf("failed %s\n", cairn_error_name(rc));
    return rc;
}

static int continue_said(struct cairn *c, int rc, const char *word)
{
    if (rc < 0) {
        return continue_failed(c, rc);
    }
    (void)printf("%s\n", word);
    return 0;
}

static int continue_word(struct trainer *t, struct cairn *c, const char *word)
{
    struct cairn_boundary saved;
    if (strncmp(word, "train=", 6) == 0) {
        trainer_train(t, strtoull(word + 6, NULL, 10), stdout);
    } else if (strcmp(word, "save") == 0) {
        return continue_said(c, trainer_save(t, c, &saved), "saved");
    } else if (strcmp(word, "load") == 0) {
        return continue_said(c, trainer_load(t, c, "latest"), "loaded");
    } else if (strcmp(word, "print") == 0) {
        struct leaves s;
        trainer_leaves(t, &s);
        leaves_print(&s, stdout);
    } else {
        (void)printf("waiting\n");
        (void)pause();
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct cairn *c = NULL;
    struct recipe recipe;
    struct trainer t;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 7 || !recipe_find(&recipe, argv[3], argv[4], argv[5])) {
        return continue_failed(NULL, -CAIRN_EINVAL) != 0;
    }
    int rc = cairn_open(argv[1], argv[2], &c);
    if (rc < 0) {
        (void)continue_failed(c, rc);
    }
    trainer_init(&t, &recipe, strtoull(argv[6], NULL, 10));
    for (int i = 7; rc == 0 && i < argc; i++) {
        rc = continue_word(&t, c, argv[i]);
    }
    cairn_close(c);
    return rc < 0;
}
