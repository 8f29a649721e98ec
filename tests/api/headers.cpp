// The same for C++: structs that a C++ trainer fills, calls with C linkage.
#include CAIRN_HEADER

extern "C" const char *cairn_header_links()
{
    return cairn_strerror(-CAIRN_EINVAL);
}
