#include "file_reader.h"

#include "shim.h"

#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <tuple>
#endif

namespace atelier {

#ifdef __linux__

namespace {

// Read at once, up to a multiple of it in the file.
constexpr size_t WINDOW_BYTES = size_t(4) << 20;
// Smaller tensors are mostly waited for, and the system reads their neighbours with them.
constexpr size_t MIN_BYTES_PAST_CACHE = size_t(256) << 10;
// Of places in the file and in memory, for reads past the cache: a multiple of what file systems and disks ask for. Others refuse.
constexpr size_t ALIGNMENT = 4096;
// Read both ways by each thread before it knows which is quicker.
constexpr uint64_t MEASURED_BYTES = uint64_t(16) << 20;
// Of the two rates. Where the disk is the limit both are alike, and a copy in the cache makes the next load quick.
constexpr double MIN_GAIN = 1.15;

// What was read past the cache, by device, inode and time of the last change. A file is read so once: weights that stay on the disk, or a model that comes back, are read
// again, and quicker from a copy in the cache.
std::atomic<uint64_t>* counter_of(const struct stat& file) {
    static std::mutex mutex;
    static std::map<std::tuple<dev_t, ino_t, time_t, long>, std::atomic<uint64_t>> counters;
    std::lock_guard<std::mutex> lock(mutex);
    return &counters[{file.st_dev, file.st_ino, file.st_mtim.tv_sec, file.st_mtim.tv_nsec}];
}

// Memory that is free, or becomes free when asked for. Without limit where the system does not tell.
uint64_t available_bytes() {
    std::ifstream file("/proc/meminfo");
    std::string line;
    while (std::getline(file, line)) {
        if (line.rfind("MemAvailable:", 0) == 0) {
            return std::strtoull(line.c_str() + std::strlen("MemAvailable:"), nullptr, 10) << 10;
        }
    }
    return UINT64_MAX;
}

int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Bytes read, at least `enough` of `count` but at the end of the file or at a fault.
size_t read_at(int file, char* to, size_t count, size_t enough, uint64_t offset) {
    size_t done = 0;
    while (done < enough) {
        const ssize_t bytes = pread(file, to + done, count - done, static_cast<off_t>(offset + done));
        if (bytes < 0 && errno == EINTR) {
            continue;
        }
        if (bytes <= 0) {
            break;
        }
        done += static_cast<size_t>(bytes);
    }
    return done;
}

}  // namespace

FileReader::FileReader(const std::string& path) : path_(path) {
    if (path.empty()) {
        return;
    }
    struct stat file;
    file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0 || fstat(file_, &file) != 0 || !S_ISREG(file.st_mode) || file.st_size <= 0) {
        return;
    }
    file_size_    = static_cast<uint64_t>(file.st_size);
    page_bytes_   = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    read_before_  = counter_of(file);
    void* mapping = mmap(nullptr, static_cast<size_t>(file_size_), PROT_READ, MAP_SHARED, file_, 0);
    mapping_      = mapping == MAP_FAILED ? nullptr : mapping;
}

FileReader::~FileReader() {
    close_past_cache();
    if (mapping_ != nullptr) {
        munmap(mapping_, static_cast<size_t>(file_size_));
    }
    if (file_ >= 0) {
        close(file_);
    }
}

bool FileReader::read(char* to, size_t count, uint64_t offset) {
    if (file_ < 0) {
        return false;
    }
    if (count < MIN_BYTES_PAST_CACHE) {
        return read_at(file_, to, count, count, offset) == count;
    }
    while (count > 0) {
        const size_t part = std::min(count, static_cast<size_t>(WINDOW_BYTES - offset % WINDOW_BYTES));
        if (!read_window(to, part, offset)) {
            return false;
        }
        to += part;
        count -= part;
        offset += part;
    }
    return true;
}

bool FileReader::read_window(char* to, size_t count, uint64_t offset) {
    const bool is_new   = !is_cached(count, offset);
    const int64_t begin = now_ns();
    const bool is_past  = is_new && is_better_past_cache() && read_past_cache(to, count, offset);
    if (!is_past && read_at(file_, to, count, count, offset) != count) {
        return false;
    }
    if (is_new) {
        Rate& rate = is_past ? direct_rate_ : cached_rate_;
        rate.bytes += count;
        rate.time_ns += now_ns() - begin;
    }
    return true;
}

bool FileReader::is_better_past_cache() {
    if (is_refused_ || read_before_ == nullptr) {
        return false;
    }
    if (!has_room()) {
        return true;
    }
    if (*read_before_ >= file_size_) {
        return false;
    }
    if (direct_rate_.bytes < MEASURED_BYTES || cached_rate_.bytes < MEASURED_BYTES) {
        return direct_rate_.bytes <= cached_rate_.bytes;
    }
    return direct_rate_.bytes_per_ns() >= MIN_GAIN * cached_rate_.bytes_per_ns();
}

// For a copy in the cache, and for the weights where they are read for the first time.
bool FileReader::has_room() {
    if (free_bytes_ == 0) {
        free_bytes_ = available_bytes();
    }
    return free_bytes_ >= (*read_before_ < file_size_ ? 2 : 1) * file_size_;
}

// Half of it or more. The system calls every page cached where the file is another user's and may not be written.
bool FileReader::is_cached(size_t count, uint64_t offset) const {
    if (mapping_ == nullptr || offset + count > file_size_) {
        return true;
    }
    const uint64_t begin = offset / page_bytes_ * page_bytes_;
    const size_t bytes   = static_cast<size_t>(offset + count - begin);
    unsigned char pages[WINDOW_BYTES / 4096 + 1];
    const size_t page_count = (bytes + page_bytes_ - 1) / page_bytes_;
    if (page_count > sizeof(pages) || mincore(static_cast<char*>(mapping_) + begin, bytes, pages) != 0) {
        return true;
    }
    const auto cached = std::count_if(pages, pages + page_count, [](unsigned char page) { return (page & 1) != 0; });
    return static_cast<size_t>(cached) * 2 >= page_count;
}

// By way of a buffer: tensors lie differently in files and in memory.
bool FileReader::read_past_cache(char* to, size_t count, uint64_t offset) {
    if (!open_past_cache()) {
        return false;
    }
    const size_t before = static_cast<size_t>(offset % ALIGNMENT);
    const size_t enough = before + count;
    const size_t bytes  = (enough + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (read_at(direct_, buffer_, bytes, enough, offset - before) < enough) {
        close_past_cache();
        return false;
    }
    std::memcpy(to, buffer_ + before, count);
    bytes_past_cache_ += count;
    *read_before_ += count;
    return true;
}

bool FileReader::open_past_cache() {
    if (direct_ < 0) {
        direct_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
        buffer_ = static_cast<char*>(std::aligned_alloc(ALIGNMENT, WINDOW_BYTES));
        if (direct_ < 0 || buffer_ == nullptr) {
            close_past_cache();
        }
    }
    return direct_ >= 0;
}

void FileReader::close_past_cache() {
    is_refused_ = true;
    if (direct_ >= 0) {
        close(direct_);
        direct_ = -1;
    }
    std::free(buffer_);
    buffer_ = nullptr;
}

#else

FileReader::FileReader(const std::string&) {}

FileReader::~FileReader() = default;

bool FileReader::read(char*, size_t, uint64_t) {
    return false;
}

#endif

}  // namespace atelier

int64_t atelier_read_file(const char* path, uint64_t offset, void* to, size_t count) {
    if (path == nullptr || to == nullptr) {
        return -1;
    }
    try {
        atelier::FileReader reader(path);
        return reader.read(static_cast<char*>(to), count, offset) ? static_cast<int64_t>(reader.bytes_past_cache()) : -1;
    } catch (...) {
        return -1;
    }
}
