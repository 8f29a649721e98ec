/* consumer.c: the least a program does with cairn; there is no daemon at this socket, and that is
 * what it expects to be told. */
#include <cairn/admin.h>
#include <cairn/training.h>
#include <stdio.h>

int main(void)
{
    struct cairn *c = NULL;
    int rc = cairn_open("/nonexistent/cairnd.sock", "consumer", &c);
    printf("%s: %s\n", cairn_error_name(rc), cairn_error(c));
    cairn_close(c);
    return rc == -CAIRN_ECONN && cairn_dtype_bits(CAIRN_F32) == 32 ? 0 : 1;
}
