/* main.c: cairnd. Arguments, then either a check of a stopped store, or serving. The only exit. */
#include <inttypes.h>

#include "base/log.h"
#include "base/stdfds.h"
#include "conf/conf.h"
#include "server.h"
#include "store/store.h"

enum { MAIN_USAGE = 64 };

static int main_print_finding(void *arg, const char *where, const char *text)
{
    (void)arg;
    return printf("%s: %s\n", where, text) < 0 ? -CAIRN_EIO : 0;
}

/* Exit codes: 0 clean, 1 findings, 2 could not check. */
static int main_fsck(const char *dir)
{
    struct wire_verified sum = { 0 };
    struct err err = { 0 };
    int rc = st_fsck(dir, main_print_finding, NULL, &sum, &err);
    if (rc < 0) {
        (void)fprintf(stderr, "cairnd: check of '%s' was not possible: %s\n", dir, err.msg);
        return 2;
    }
    bool said = printf("%s: %" PRIu64 " boundaries, %" PRIu64 " chunks, %" PRIu64
                       " bytes checked, %" PRIu64 " findings\n",
                       dir,
                       sum.boundary_count,
                       sum.chunk_count,
                       sum.bytes,
                       sum.finding_count) >= 0 &&
                fflush(stdout) == 0;
    return !said ? 2 : sum.finding_count > 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct conf conf;
    struct err err = { 0 };
    if (!stdfds_open()) {
        return 1;
    }
    if (conf_parse(argc, argv, &conf, &err) < 0) {
        (void)fprintf(stderr, "cairnd: %s\n", err.msg);
        return MAIN_USAGE;
    }
    log_set_level((enum log_level)conf.log_level);
    if (conf.print_config) {
        return conf_print(&conf, stdout) < 0 ? 1 : 0;
    }
    if (conf.fsck[0] != '\0') {
        return main_fsck(conf.fsck);
    }
    return server_run(&conf);
}
