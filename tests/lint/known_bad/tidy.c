/* Formed well and wrong on purpose: the tidy gate must refuse the ignored result. */
#include <stdio.h>

int known_bad(void);

int known_bad(void)
{
    remove("a file that is not there");
    return 0;
}
