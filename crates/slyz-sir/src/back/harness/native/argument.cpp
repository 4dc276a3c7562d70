/* A value as it is passed to a kernel. */
struct slyz_argument {
    unsigned char bytes[8];
    size_t size;
};

template <typename T> static slyz_argument slyz_pass(T value) {
    static_assert(sizeof value <= 8, "kernels take buffers and numbers");
    slyz_argument argument;
    memcpy(argument.bytes, &value, sizeof value);
    argument.size = sizeof value;
    return argument;
}
