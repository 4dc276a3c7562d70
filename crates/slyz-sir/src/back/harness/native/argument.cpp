/* A value as it is passed to a kernel. */
struct host_argument {
    unsigned char bytes[8];
    size_t size;
};

template <typename T> static host_argument host_pass(T value) {
    static_assert(sizeof value <= 8, "kernels take buffers and numbers");
    host_argument argument;
    memcpy(argument.bytes, &value, sizeof value);
    argument.size = sizeof value;
    return argument;
}
