// Reads weights from a file. On Linux, what is not in the system's cache is read past it (O_DIRECT) where that is quicker, or where memory has no
// room for the weights and the cache's copy of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace atelier {

// Of one thread.
class FileReader {
public:
    // Without a path, and elsewhere than on Linux, nothing can be read.
    explicit FileReader(const std::string& path);
    ~FileReader();
    FileReader(const FileReader&)            = delete;
    FileReader& operator=(const FileReader&) = delete;

    // False where not all of it could be read so; the caller reads it in an ordinary way, and says what is wrong.
    bool read(char* to, size_t count, uint64_t offset);

    // Of what was read.
    uint64_t bytes_past_cache() const { return bytes_past_cache_; }

#ifdef __linux__
private:
    struct Rate {
        uint64_t bytes  = 0;
        int64_t time_ns = 0;

        double bytes_per_ns() const { return static_cast<double>(bytes) / static_cast<double>(time_ns > 0 ? time_ns : 1); }
    };

    // Of one window, at most.
    bool read_window(char* to, size_t count, uint64_t offset);
    bool is_better_past_cache();
    bool has_room();
    bool is_cached(size_t count, uint64_t offset) const;
    bool read_past_cache(char* to, size_t count, uint64_t offset);
    bool open_past_cache();
    void close_past_cache();

    std::string path_;
    int file_ = -1;
    // The same, for reads past the cache.
    int direct_ = -1;
    // A file system that refuses them once is not asked again.
    bool is_refused_ = false;
    char* buffer_    = nullptr;
    // Of the whole file, to ask which of its pages are in the cache; never read. Null where there is none.
    void* mapping_      = nullptr;
    uint64_t file_size_ = 0;
    size_t page_bytes_  = 0;
    // Memory that is free when it is first asked for; 0 before.
    uint64_t free_bytes_ = 0;
    // What this process has read of the file past the cache.
    std::atomic<uint64_t>* read_before_ = nullptr;
    // Of what was not in the cache, past it and through it.
    Rate direct_rate_;
    Rate cached_rate_;
#endif

private:
    uint64_t bytes_past_cache_ = 0;
};

}  // namespace atelier
