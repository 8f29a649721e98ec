/* owner.c: USER/RUN as people write it, UID/RUN as the wire has it. The name is looked up here, in
 * the process that knows what it means: a name service may block, and the daemon's loop must not.
 */
#include "lib/owner.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/rules.h"

enum { OWNER_BUFFER_BYTES = 16 << 10 };

static bool owner_is_number(const char *user, size_t bytes)
{
    return strspn(user, "0123456789") >= bytes;
}

static int owner_lookup(const char *user, uint32_t *ret_uid, struct err *err)
{
    char buffer[OWNER_BUFFER_BYTES];
    struct passwd row;
    struct passwd *found = NULL;
    int errnum = getpwnam_r(user, &row, buffer, sizeof buffer, &found);
    if (found == NULL) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "there is no user '%.100s'%s%s",
                       user,
                       errnum == 0 ? "" : ": ",
                       errnum == 0 ? "" : strerrordesc_np(errnum));
    }
    *ret_uid = found->pw_uid;
    return 0;
}

int owner_resolve(const char *run, char **ret, struct err *err)
{
    const char *slash = strchr(run, '/');
    const char *name = slash == NULL ? run : slash + 1;
    size_t user_bytes = slash == NULL ? 0 : (size_t)(slash - run);
    char user[256];
    uint32_t uid = 0;
    char *text = NULL;
    if (slash == run || user_bytes >= sizeof user || !run_name_ok(slice_str(name))) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "run '%.200s': expected RUN or USER/RUN, where RUN is up to %u of "
                       "letters, digits, '.', '_', '-' and begins with a letter or digit",
                       run,
                       LIMIT_RUN_NAME_BYTES);
    }
    if (slash == NULL || owner_is_number(run, user_bytes)) {
        text = strdup(run);
    } else {
        memcpy(user, run, user_bytes);
        user[user_bytes] = '\0';
        int rc = owner_lookup(user, &uid, err);
        if (rc < 0) {
            return rc;
        }
        text = malloc(strlen(name) + 16);
        if (text != NULL) {
            (void)snprintf(text, strlen(name) + 16, "%u/%s", uid, name);
        }
    }
    if (text == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "no memory for a run name");
    }
    *ret = text;
    return 0;
}
