static inline int host_device_allocate(host_buffer *buffer, size_t bytes) {
    host_device *made = host_shared();
    /* Kernels see whole words, and up to four at once. */
    bytes = (bytes + 15) / 16 * 16;
    if (bytes > made->limits.maxStorageBufferRange) return SLYZ_TOO_LARGE;
    *buffer = (host_buffer)malloc(sizeof **buffer);
    if (!*buffer) return SLYZ_OUT_OF_MEMORY;
    int error = host_made(made, *buffer, bytes, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0);
    if (!error) return SLYZ_OK;
    free(*buffer);
    *buffer = NULL;
    return error;
}

static inline void host_device_free(host_buffer buffer) {
    host_released(host_shared(), buffer);
    free(buffer);
}

/* Each command sees what all before it have written. */
static inline int host_recorded(host_device *made) {
    if (!made->recording) {
        VkCommandBufferBeginInfo begin = {};
        begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
        begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
        VkResult result = vkBeginCommandBuffer(made->commands, &begin);
        if (result != VK_SUCCESS) return host_told("vkBeginCommandBuffer", result);
        made->recording = 1;
    }
    VkMemoryBarrier all = {};
    all.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    all.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
    all.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    vkCmdPipelineBarrier(made->commands, stages, stages, 0, 1, &all, 0, NULL, 0, NULL);
    return SLYZ_OK;
}

/* Runs what was recorded, and waits for it. */
static inline int host_submitted(host_device *made) {
    if (!made->recording) return SLYZ_OK;
    made->recording = 0;
    made->launches = 0;
    VkMemoryBarrier seen = {};
    seen.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    seen.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
    seen.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    vkCmdPipelineBarrier(
        made->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &seen, 0, NULL, 0, NULL);
    VkResult result = vkEndCommandBuffer(made->commands);
    if (result != VK_SUCCESS) return host_told("vkEndCommandBuffer", result);
    VkSubmitInfo submit = {};
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &made->commands;
    result = vkQueueSubmit(made->queue, 1, &submit, made->done);
    if (result != VK_SUCCESS) return host_told("vkQueueSubmit", result);
    result = vkWaitForFences(made->device, 1, &made->done, VK_TRUE, UINT64_MAX);
    if (result == VK_SUCCESS) result = vkResetFences(made->device, 1, &made->done);
    if (result == VK_SUCCESS) result = vkResetDescriptorPool(made->device, made->sets, 0);
    return host_told("vkWaitForFences", result);
}

static inline int host_device_wait(void) {
    host_device *made = host_shared();
    std::lock_guard<std::mutex> turn(made->turn);
    return host_submitted(made);
}

/* Between memory of the device and the stage. */
static inline int host_copied(host_device *made, VkBuffer from, size_t from_at, VkBuffer into, size_t into_at, size_t bytes) {
    int error = host_recorded(made);
    if (error) return error;
    const VkBufferCopy region = {from_at, into_at, bytes};
    vkCmdCopyBuffer(made->commands, from, into, 1, &region);
    return host_submitted(made);
}

static inline int host_device_write(host_buffer into, const void *from, size_t bytes) {
    host_device *made = host_shared();
    std::lock_guard<std::mutex> turn(made->turn);
    int error = SLYZ_OK;
    for (size_t at = 0; at < bytes && !error; at += SLYZ_STAGE) {
        size_t part = bytes - at < SLYZ_STAGE ? bytes - at : SLYZ_STAGE;
        memcpy(made->stage_at, (const char *)from + at, part);
        error = host_copied(made, made->stage.buffer, 0, into->buffer, at, part);
    }
    return error;
}

static inline int host_device_read(void *into, host_buffer from, size_t bytes) {
    host_device *made = host_shared();
    std::lock_guard<std::mutex> turn(made->turn);
    int error = SLYZ_OK;
    for (size_t at = 0; at < bytes && !error; at += SLYZ_STAGE) {
        size_t part = bytes - at < SLYZ_STAGE ? bytes - at : SLYZ_STAGE;
        error = host_copied(made, from->buffer, at, made->stage.buffer, 0, part);
        if (!error) memcpy((char *)into + at, made->stage_at, part);
    }
    return error;
}

/* The words of a kernel; none where the file is not there. */
static inline std::vector<uint32_t> host_code(const char *name) {
    std::vector<uint32_t> words;
    std::string path = std::string(SLYZ_KERNELS) + "/" + name;
    FILE *file = fopen(path.c_str(), "rb");
    if (file) {
        for (uint32_t word; fread(&word, sizeof word, 1, file) == 1;) words.push_back(word);
        fclose(file);
    }
    if (words.size() < 5) fprintf(stderr, "%s cannot be read; it belongs to this program\n", path.c_str());
    return words;
}

/* Has the device what the kernel says it needs? Modules begin with that: pairs of words behind the first five. */
static inline int host_is_able(const host_device *made, const std::vector<uint32_t> &words, const char *name) {
    const uint32_t capability = 2 << 16 | 17, float64 = 10, int64 = 11;
    for (size_t k = 5; k + 1 < words.size() && words[k] == capability; k += 2) {
        const char *lacks = NULL;
        if (words[k + 1] == float64 && !made->features.shaderFloat64) lacks = "shaderFloat64";
        if (words[k + 1] == int64 && !made->features.shaderInt64) lacks = "shaderInt64";
        if (lacks) fprintf(stderr, "%s needs %s, which this device has not\n", name, lacks);
        if (lacks) return 0;
    }
    return 1;
}

/* Makes a kernel ready that has so many buffers. */
static inline int host_prepared(const host_device *made, const char *name, uint32_t buffers, host_ready *ready) {
    std::vector<uint32_t> words = host_code(name);
    if (words.size() < 5 || !host_is_able(made, words, name)) return SLYZ_DEVICE;
    VkDescriptorSetLayoutBinding bindings[SLYZ_ARGUMENTS + 1] = {};
    for (uint32_t k = 0; k <= buffers; k++) {
        bindings[k].binding = k;
        bindings[k].descriptorType = k < buffers ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
        bindings[k].descriptorCount = 1;
        bindings[k].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    }
    VkDescriptorSetLayoutCreateInfo set = {};
    set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    set.bindingCount = buffers + 1;
    set.pBindings = bindings;
    VkResult result = vkCreateDescriptorSetLayout(made->device, &set, NULL, &ready->bindings);
    if (result != VK_SUCCESS) return host_told("vkCreateDescriptorSetLayout", result);
    VkPipelineLayoutCreateInfo layout = {};
    layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout.setLayoutCount = 1;
    layout.pSetLayouts = &ready->bindings;
    result = vkCreatePipelineLayout(made->device, &layout, NULL, &ready->layout);
    if (result != VK_SUCCESS) return host_told("vkCreatePipelineLayout", result);
    VkShaderModuleCreateInfo code = {};
    code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    code.codeSize = words.size() * sizeof words[0];
    code.pCode = words.data();
    VkShaderModule shader;
    result = vkCreateShaderModule(made->device, &code, NULL, &shader);
    if (result != VK_SUCCESS) return host_told(name, result);
    VkComputePipelineCreateInfo pipeline = {};
    pipeline.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    pipeline.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    pipeline.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    pipeline.stage.module = shader;
    pipeline.stage.pName = "main";
    pipeline.layout = ready->layout;
    result = vkCreateComputePipelines(made->device, VK_NULL_HANDLE, 1, &pipeline, NULL, &ready->pipeline);
    vkDestroyShaderModule(made->device, shader, NULL);
    return host_told(name, result);
}

static inline int host_device_launch(
    host_kernel name, const int64_t *grid, const unsigned *, const host_argument *arguments, size_t count) {
    host_device *made = host_shared();
    std::lock_guard<std::mutex> turn(made->turn);
    for (int k = 0; k < 3; k++)
        if (grid[k] > (int64_t)made->limits.maxComputeWorkGroupCount[k]) return SLYZ_TOO_LARGE;
    uint32_t buffers = 0;
    while (buffers < count && arguments[buffers].buffer) buffers++;
    int error = SLYZ_OK;
    if (!made->kernels.count(name)) {
        host_ready ready = {};
        error = host_prepared(made, name, buffers, &ready);
        if (error) return error;
        made->kernels[name] = ready;
    }
    const host_ready &ready = made->kernels[name];
    if (made->launches == SLYZ_LAUNCHES) error = host_submitted(made);
    if (!error) error = host_recorded(made);
    if (error) return error;
    VkDescriptorSetAllocateInfo asked = {};
    asked.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    asked.descriptorPool = made->sets;
    asked.descriptorSetCount = 1;
    asked.pSetLayouts = &ready.bindings;
    VkDescriptorSet set;
    VkResult result = vkAllocateDescriptorSets(made->device, &asked, &set);
    if (result != VK_SUCCESS) return host_told("vkAllocateDescriptorSets", result);
    const VkDeviceSize place = (VkDeviceSize)SLYZ_NUMBERS * made->launches++;
    memset(made->numbers_at + place, 0, SLYZ_NUMBERS);
    for (size_t k = buffers; k < count; k++) memcpy(made->numbers_at + place + 8 * (k - buffers), &arguments[k].bits, 8);
    VkDescriptorBufferInfo bound[SLYZ_ARGUMENTS + 1];
    VkWriteDescriptorSet writes[SLYZ_ARGUMENTS + 1] = {};
    for (uint32_t k = 0; k <= buffers; k++) {
        if (k < buffers) bound[k] = {arguments[k].buffer->buffer, 0, VK_WHOLE_SIZE};
        else bound[k] = {made->numbers.buffer, place, SLYZ_NUMBERS};
        writes[k].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        writes[k].dstSet = set;
        writes[k].dstBinding = k;
        writes[k].descriptorCount = 1;
        writes[k].descriptorType = k < buffers ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
        writes[k].pBufferInfo = &bound[k];
    }
    vkUpdateDescriptorSets(made->device, buffers + 1, writes, 0, NULL);
    vkCmdBindPipeline(made->commands, VK_PIPELINE_BIND_POINT_COMPUTE, ready.pipeline);
    vkCmdBindDescriptorSets(made->commands, VK_PIPELINE_BIND_POINT_COMPUTE, ready.layout, 0, 1, &set, 0, NULL);
    vkCmdDispatch(made->commands, (uint32_t)grid[0], (uint32_t)grid[1], (uint32_t)grid[2]);
    return SLYZ_OK;
}
