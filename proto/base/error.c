#include <cairn/error.h>

/* Both signs are accepted: calls return the negative, frames carry the positive number. */
static unsigned error_number(int code)
{
    return code < 0 ? 0u - (unsigned)code : (unsigned)code;
}

const char *cairn_strerror(int code)
{
    switch (error_number(code)) {
    case 0:
        return "success";
#define ERROR_TEXT(name, number, sort, text)                                                       \
    case (number):                                                                                 \
        return text;
        CAIRN_ERRORS(ERROR_TEXT)
#undef ERROR_TEXT
    default:
        return "unknown error";
    }
}

const char *cairn_error_name(int code)
{
    switch (error_number(code)) {
    case 0:
        return "CAIRN_OK";
#define ERROR_NAME(name, number, sort, text)                                                       \
    case (number):                                                                                 \
        return "CAIRN_" #name;
        CAIRN_ERRORS(ERROR_NAME)
#undef ERROR_NAME
    default:
        return "CAIRN_E?";
    }
}

enum cairn_error_class cairn_error_class_of(int code)
{
#define ERROR_CLASS(name, number, sort, text) [(number)] = CAIRN_CLASS_##sort,
    static const enum cairn_error_class classes[] = { CAIRN_ERRORS(ERROR_CLASS) };
#undef ERROR_CLASS
    unsigned number = error_number(code);
    return number < sizeof classes / sizeof classes[0] ? classes[number] : CAIRN_CLASS_NONE;
}
