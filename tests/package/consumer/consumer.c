/* consumer.c: the least a program does with cairn; there is no daemon at this socket, and that is
 * what it expects to be told. */
#include <cairn/admin.h>
#include <cairn/training.h>
#include <stdio.h>

/* Names that a program may well have, and that the library has inside: they are no business of each
 * other. */
int err_set(const char *text);
int utf8_ok(const char *text);

int err_set(const char *text)
{
    return text != NULL;
}

int utf8_ok(const char *text)
{
    return err_set(text);
}

int main(void)
{
    struct cairn *c = NULL;
    int rc = cairn_open("/nonexistent/cairnd.sock", "consumer", &c);
    printf("%s: %s\n", cairn_error_name(rc), cairn_error(c));
    cairn_close(c);
    return rc == -CAIRN_ECONN && cairn_dtype_bits(CAIRN_F32) == 32 && utf8_ok("") ? 0 : 1;
}
