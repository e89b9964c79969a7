// Reads weights from a file. On Linux the system is told what comes next, so that the disk does not wait for the threads; what is not in the
// system's cache is read past it (O_DIRECT) where memory has no room for the weights and the cache's copy of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace atelier {

// Shared by the threads that read it.
class WeightFile {
public:
    // Offset and bytes.
    using Part = std::pair<uint64_t, uint64_t>;

    // `parts`: what will be read, about from the front to the end. `free_bytes`: memory that is free; 0 asks the system. Without a path, and
    // elsewhere than on Linux, nothing can be read.
    WeightFile(const std::string& path, std::vector<Part> parts, uint64_t free_bytes = 0);
    ~WeightFile();
    WeightFile(const WeightFile&)            = delete;
    WeightFile& operator=(const WeightFile&) = delete;

#ifdef __linux__
private:
    friend class FileReader;

    // Told to the system at once.
    struct Step {
        uint64_t begin = 0;
        uint64_t end   = 0;
        // Bytes of all steps before it.
        uint64_t before = 0;
    };

    void plan(std::vector<Part> parts);
    // Of what follows when this is read.
    void tell_ahead(uint64_t offset);
    bool is_cached(size_t count, uint64_t offset) const;
    void refuse_past_cache();

    int file_ = -1;
    // The same, for reads past the cache; -1 where memory has room, or the file system refuses them.
    int direct_ = -1;
    std::atomic<bool> is_refused_{false};
    // Of the whole file, to ask which of its pages are in the cache; never read. Null where there is none.
    void* mapping_      = nullptr;
    uint64_t file_size_ = 0;
    size_t page_bytes_  = 0;
    // What this process has read of the file past the cache.
    std::atomic<uint64_t>* read_before_ = nullptr;
    std::vector<Step> steps_;
    // The first that the system was not told of.
    std::atomic<size_t> next_step_{0};
#endif
};

// Of one thread.
class FileReader {
public:
    explicit FileReader(WeightFile& file);
    ~FileReader();
    FileReader(const FileReader&)            = delete;
    FileReader& operator=(const FileReader&) = delete;

    // False where not all of it could be read so; the caller reads it in an ordinary way, and says what is wrong.
    bool read(char* to, size_t count, uint64_t offset);

    // Of what was read.
    uint64_t bytes_past_cache() const { return bytes_past_cache_; }

#ifdef __linux__
private:
    // Of one window, at most.
    bool read_past_cache(char* to, size_t count, uint64_t offset);

    WeightFile& file_;
    char* buffer_ = nullptr;
#endif

private:
    uint64_t bytes_past_cache_ = 0;
};

}  // namespace atelier
