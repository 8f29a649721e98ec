// The same for C++: structs that a C++ trainer fills, calls with C linkage.

extern "C" const char *cairn_header_links()
{
    return cairn_strerror(-CAIRN_EINVAL);
}
