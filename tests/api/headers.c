/* Every public header alone, as C11, with nothing in front of it. Compiled once per header, which
 * is included by the option -include: it comes first of all. */

/* A program may call what the header declares, and the header brings no macro in its way. */
int cairn_header_compiles(void);
int cairn_header_compiles(void)
{
    return CAIRN_EINVAL;
}
