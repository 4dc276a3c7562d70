// A stand-in for AMD's compiler: the system's, with the shim of HIP.
//
// `SHIM_FOLDER`, `SHIM_COMPILER` and `SHIM_VERSION` say where the shim is, what compiles, and which of both it is.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

enum { OK = 0, INVALID_OPTION = 5, COMPILATION = 6 };

struct Program {
    std::string text, log, code;
};

std::mutex lock;
std::vector<std::string> compiled;

std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// The names of kernels: the last word before an argument list that follows `__global__`.
std::vector<std::string> kernels(const std::string& text) {
    std::vector<std::string> names;
    for (size_t at = 0; (at = text.find("__global__", at)) != std::string::npos; ++at) {
        size_t open = text.find('(', at), bounds = text.find("__launch_bounds__", at);
        if (bounds < open) open = text.find('(', text.find(')', open));
        size_t end = text.find_last_not_of(" \n", open - 1) + 1;
        size_t start = text.find_last_of(" \n*", end - 1) + 1;
        names.push_back(text.substr(start, end - start));
    }
    return names;
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

// How many texts with that in them it has compiled, for tests of what is kept.
EXPORT int slyz_stand_in_compilations(const char* part) {
    std::lock_guard<std::mutex> guard(lock);
    int count = 0;
    for (const std::string& text : compiled) count += text.find(part) != std::string::npos;
    return count;
}

EXPORT int hiprtcVersion(int* major, int* minor) { return *major = 0, *minor = SHIM_VERSION, OK; }
EXPORT int hiprtcCreateProgram(void** program, const char* text, const char*, int, const char* const*, const char* const*) {
    return *program = new Program{text, "", ""}, OK;
}
EXPORT int hiprtcDestroyProgram(void** program) { return delete (Program*)*program, OK; }

EXPORT int hiprtcCompileProgram(void* handle, int count, const char* const* options) {
    Program& program = *(Program*)handle;
    {
        std::lock_guard<std::mutex> guard(lock);
        compiled.push_back(program.text);
    }
    const char* lanes = "32";
    bool has_architecture = false;
    for (int k = 0; k < count; ++k) {
        std::string option = options[k];
        if (option.rfind("--offload-arch=gfx", 0) == 0) {
            has_architecture = true;
            if (option.rfind("--offload-arch=gfx9", 0) == 0) lanes = "64";
        } else if (option.rfind("-", 0) != 0) {
            return program.log = "unknown option " + option, INVALID_OPTION;
        }
    }
    if (!has_architecture) return program.log = "no architecture", INVALID_OPTION;
    char folder[] = "/tmp/slyz_hiprtc_XXXXXX";
    if (!mkdtemp(folder)) return program.log = "no temporary folder", COMPILATION;
    std::string at = folder, source = at + "/kernel.cpp", library = at + "/kernel.so", log = at + "/log";
    std::ofstream(source) << program.text << "\n";
    std::ofstream glue(source, std::ios::app);
    for (const std::string& name : kernels(program.text)) glue << "SHIM_KERNEL(" << name << ")\n";
    glue.close();
    // As `glue.rs` does.
    std::string command = std::string(SHIM_COMPILER) + " -std=c++17 -O0 -fno-omit-frame-pointer -w -shared -fPIC -fvisibility=hidden"
        " -fwrapv -fno-strict-aliasing -ffp-contract=off -frounding-math -include hip/hip_runtime.h -I " SHIM_FOLDER " -DSHIM_LANES="
        + lanes + " -o " + library + " " + source + " > " + log + " 2>&1";
    int failed = system(command.c_str());
    program.log = contents(log);
    std::string code = contents(library);
    uint64_t length = code.size();
    program.code = std::string("standin", 8) + std::string((const char*)&length, 8) + code;
    for (const std::string& path : {source, library, log}) unlink(path.c_str());
    rmdir(folder);
    return failed ? COMPILATION : OK;
}

EXPORT int hiprtcGetProgramLogSize(void* program, size_t* size) { return *size = ((Program*)program)->log.size() + 1, OK; }
EXPORT int hiprtcGetProgramLog(void* program, char* log) { return strcpy(log, ((Program*)program)->log.c_str()), OK; }
EXPORT int hiprtcGetCodeSize(void* program, size_t* size) { return *size = ((Program*)program)->code.size(), OK; }
EXPORT int hiprtcGetCode(void* program, char* code) {
    const std::string& all = ((Program*)program)->code;
    return memcpy(code, all.data(), all.size()), OK;
}
