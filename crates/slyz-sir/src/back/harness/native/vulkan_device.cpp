/* Memory of the device. */
struct host_memory {
    VkBuffer buffer;
    VkDeviceMemory memory;
};

/* A value as it is passed to a kernel: a buffer, or else the bits of a number. */
struct host_argument {
    host_buffer buffer;
    uint64_t bits;
};

template <typename T> static inline host_argument host_pass(T value) {
    static_assert(sizeof value <= 8, "kernels take buffers and numbers");
    host_argument argument = {NULL, 0};
    memcpy(&argument.bits, &value, sizeof value);
    return argument;
}

template <> inline host_argument host_pass(host_buffer buffer) {
    return {buffer, 0};
}

/* Two words, of which the second stands behind the first. */
static inline host_argument host_pair(host_argument first, host_argument second) {
    return {NULL, (first.bits & UINT32_MAX) | second.bits << 32};
}

/* Launches that wait together, at most; each has a place for its numbers, behind which stands one word of 0 at least. */
#define SLYZ_LAUNCHES 512
#define SLYZ_NUMBERS ((8 * SLYZ_ARGUMENTS + 24 + 255) / 256 * 256)
/* Bytes that are copied at once. */
#define SLYZ_STAGE ((size_t)8 << 20)

/* A kernel that is ready to be launched. Its numbers are bound behind its buffers. */
struct host_ready {
    VkDescriptorSetLayout bindings;
    VkPipelineLayout layout;
    VkPipeline pipeline;
};

/* The best device there is; it is kept for all calls, which take turns. */
struct host_device {
    int error;
    std::mutex turn;
    VkPhysicalDevice physical;
    VkPhysicalDeviceLimits limits;
    VkPhysicalDeviceFeatures features;
    VkPhysicalDeviceMemoryProperties memories;
    VkDevice device;
    VkQueue queue;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence done;
    VkDescriptorPool sets;
    host_memory numbers, stage;
    unsigned char *numbers_at, *stage_at;
    int recording;
    unsigned launches;
    std::map<std::string, host_ready> kernels;
};

static inline int host_told(const char *what, VkResult result) {
    if (result == VK_SUCCESS) return SLYZ_OK;
    if (result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY) return SLYZ_OUT_OF_MEMORY;
    fprintf(stderr, "%s failed: Vulkan error %d\n", what, (int)result);
    return SLYZ_DEVICE;
}

static inline int host_failed(const char *why) {
    fprintf(stderr, "%s\n", why);
    return SLYZ_DEVICE;
}

/* A family of queues that compute; else UINT32_MAX. */
static inline uint32_t host_family(VkPhysicalDevice physical) {
    VkQueueFamilyProperties families[32];
    uint32_t count = 32;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    for (uint32_t k = 0; k < count; k++)
        if (families[k].queueFlags & VK_QUEUE_COMPUTE_BIT) return k;
    return UINT32_MAX;
}

/* GPUs of their own come first, then those in processors, then those in software. */
static inline int host_rank(VkPhysicalDeviceType type) {
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 3;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return 2;
    default: return 1;
    }
}

static inline VkPhysicalDevice host_found(VkInstance instance) {
    VkPhysicalDevice all[16], best = VK_NULL_HANDLE;
    uint32_t count = 16;
    int rank = 0;
    VkResult result = vkEnumeratePhysicalDevices(instance, &count, all);
    if (result != VK_SUCCESS && result != VK_INCOMPLETE) return best;
    for (uint32_t k = 0; k < count; k++) {
        VkPhysicalDeviceProperties properties;
        vkGetPhysicalDeviceProperties(all[k], &properties);
        if (properties.apiVersion < VK_API_VERSION_1_1 || host_family(all[k]) == UINT32_MAX) continue;
        if (host_rank(properties.deviceType) <= rank) continue;
        rank = host_rank(properties.deviceType);
        best = all[k];
    }
    return best;
}

/* The first kind of memory that has all of these properties, among those that are allowed; else UINT32_MAX. */
static inline uint32_t host_kind(const host_device *made, uint32_t allowed, VkMemoryPropertyFlags wanted) {
    for (uint32_t k = 0; k < made->memories.memoryTypeCount; k++)
        if ((allowed >> k & 1) && (made->memories.memoryTypes[k].propertyFlags & wanted) == wanted) return k;
    return UINT32_MAX;
}

static inline void host_released(const host_device *made, const host_memory *memory) {
    vkDestroyBuffer(made->device, memory->buffer, NULL);
    vkFreeMemory(made->device, memory->memory, NULL);
}

/* Memory with the first of two sets of properties that can be had. */
static inline int host_made(
    const host_device *made, host_memory *memory, size_t bytes, VkBufferUsageFlags usage, VkMemoryPropertyFlags first,
    VkMemoryPropertyFlags second) {
    *memory = {VK_NULL_HANDLE, VK_NULL_HANDLE};
    VkBufferCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes;
    info.usage = usage | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    VkResult result = vkCreateBuffer(made->device, &info, NULL, &memory->buffer);
    if (result != VK_SUCCESS) return host_told("vkCreateBuffer", result);
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(made->device, memory->buffer, &needs);
    VkMemoryAllocateInfo asked = {};
    asked.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    asked.allocationSize = needs.size;
    asked.memoryTypeIndex = host_kind(made, needs.memoryTypeBits, first);
    if (asked.memoryTypeIndex == UINT32_MAX) asked.memoryTypeIndex = host_kind(made, needs.memoryTypeBits, second);
    result = vkAllocateMemory(made->device, &asked, NULL, &memory->memory);
    if (result == VK_SUCCESS) result = vkBindBufferMemory(made->device, memory->buffer, memory->memory, 0);
    if (result != VK_SUCCESS) host_released(made, memory);
    return host_told("vkAllocateMemory", result);
}

/* Memory that the host sees, too. */
static inline int host_mapped(const host_device *made, host_memory *memory, unsigned char **at, size_t bytes, VkBufferUsageFlags usage) {
    const VkMemoryPropertyFlags seen = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    int error = host_made(made, memory, bytes, usage, seen | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, seen);
    if (error) return error;
    return host_told("vkMapMemory", vkMapMemory(made->device, memory->memory, 0, VK_WHOLE_SIZE, 0, (void **)at));
}

static inline int host_connected(host_device *made) {
    VkApplicationInfo application = {};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_1;
    VkInstanceCreateInfo asked = {};
    asked.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    asked.pApplicationInfo = &application;
    VkInstance instance;
    if (vkCreateInstance(&asked, NULL, &instance) != VK_SUCCESS) return host_failed("this machine has no driver of Vulkan 1.1");
    made->physical = host_found(instance);
    if (!made->physical) return host_failed("this machine has no device of Vulkan 1.1 that computes");
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(made->physical, &properties);
    made->limits = properties.limits;
    vkGetPhysicalDeviceMemoryProperties(made->physical, &made->memories);
    /* Kernels say what they need; what the device has of it is on. */
    VkPhysicalDeviceFeatures has;
    vkGetPhysicalDeviceFeatures(made->physical, &has);
    made->features.shaderInt64 = has.shaderInt64;
    made->features.shaderFloat64 = has.shaderFloat64;
    const float priority = 1.0f;
    VkDeviceQueueCreateInfo queue = {};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = host_family(made->physical);
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo device = {};
    device.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    device.queueCreateInfoCount = 1;
    device.pQueueCreateInfos = &queue;
    device.pEnabledFeatures = &made->features;
    VkResult result = vkCreateDevice(made->physical, &device, NULL, &made->device);
    if (result != VK_SUCCESS) return host_told("vkCreateDevice", result);
    vkGetDeviceQueue(made->device, queue.queueFamilyIndex, 0, &made->queue);
    VkCommandPoolCreateInfo pool = {};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = queue.queueFamilyIndex;
    result = vkCreateCommandPool(made->device, &pool, NULL, &made->pool);
    if (result != VK_SUCCESS) return host_told("vkCreateCommandPool", result);
    VkCommandBufferAllocateInfo commands = {};
    commands.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    commands.commandPool = made->pool;
    commands.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    commands.commandBufferCount = 1;
    result = vkAllocateCommandBuffers(made->device, &commands, &made->commands);
    if (result != VK_SUCCESS) return host_told("vkAllocateCommandBuffers", result);
    VkFenceCreateInfo fence = {};
    fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    return host_told("vkCreateFence", vkCreateFence(made->device, &fence, NULL, &made->done));
}

/* Room for what launches are told. */
static inline int host_furnished(host_device *made) {
    const VkDescriptorPoolSize sizes[2] = {
        {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, SLYZ_LAUNCHES * SLYZ_ARGUMENTS}, {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, SLYZ_LAUNCHES}};
    VkDescriptorPoolCreateInfo sets = {};
    sets.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    sets.maxSets = SLYZ_LAUNCHES;
    sets.poolSizeCount = 2;
    sets.pPoolSizes = sizes;
    VkResult result = vkCreateDescriptorPool(made->device, &sets, NULL, &made->sets);
    if (result != VK_SUCCESS) return host_told("vkCreateDescriptorPool", result);
    int error = host_mapped(
        made, &made->numbers, &made->numbers_at, (size_t)SLYZ_LAUNCHES * SLYZ_NUMBERS, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT);
    return error ? error : host_mapped(made, &made->stage, &made->stage_at, SLYZ_STAGE, 0);
}

static inline host_device *host_shared(void) {
    static host_device made = {};
    static const int error = [] {
        int error = host_connected(&made);
        return error ? error : host_furnished(&made);
    }();
    made.error = error;
    return &made;
}

static inline int host_device_open(void) {
    return host_shared()->error;
}
