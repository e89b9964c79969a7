#include "file_reader.h"

#include "shim.h"

#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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
// That the system was told of and no thread reads yet. Threads that take turns in a file look like reads all over it, for which the system's own
// readahead waits, and page faults in the weights' memory would leave the disk idle.
constexpr uint64_t AHEAD_BYTES = uint64_t(16) << 20;
// What lies between two parts is read with them up to here: quicker than to ask the disk twice.
constexpr uint64_t MAX_GAP_BYTES = uint64_t(64) << 10;
// Smaller tensors are mostly waited for; the system is told of them where it is not of others.
constexpr size_t MIN_BYTES_PAST_CACHE = size_t(256) << 10;
// Of places in the file and in memory, for reads past the cache: a multiple of what file systems and disks ask for. Others refuse.
constexpr size_t ALIGNMENT = 4096;

// What was read past the cache, by device, inode and time of the last change. A file is read so once: weights that stay on the disk, or a model
// that comes back, are read again, and quicker from a copy in the cache.
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

WeightFile::WeightFile(const std::string& path, std::vector<Part> parts, uint64_t free_bytes) {
    if (path.empty()) {
        return;
    }
    struct stat status;
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) {
        if (file >= 0) {
            close(file);
        }
        return;
    }
    file_        = file;
    file_size_   = static_cast<uint64_t>(status.st_size);
    page_bytes_  = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    read_before_ = counter_of(status);
    // For a copy in the cache, and for the weights where they are read for the first time.
    const uint64_t copies = *read_before_ < file_size_ ? 2 : 1;
    if ((free_bytes > 0 ? free_bytes : available_bytes()) / copies < file_size_) {
        direct_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
    }
    if (direct_ >= 0) {
        void* mapping = mmap(nullptr, static_cast<size_t>(file_size_), PROT_READ, MAP_SHARED, file_, 0);
        mapping_      = mapping == MAP_FAILED ? nullptr : mapping;
    }
    // What the system was not told of, it would read more of than is asked for: up to 8 MiB where disks are quick.
    posix_fadvise(file_, 0, 0, POSIX_FADV_RANDOM);
    plan(std::move(parts));
}

WeightFile::~WeightFile() {
    if (mapping_ != nullptr) {
        munmap(mapping_, static_cast<size_t>(file_size_));
    }
    for (const int file : {file_, direct_}) {
        if (file >= 0) {
            close(file);
        }
    }
}

void WeightFile::plan(std::vector<Part> parts) {
    if (direct_ >= 0) {
        parts.erase(std::remove_if(parts.begin(), parts.end(), [](const Part& part) { return part.second >= MIN_BYTES_PAST_CACHE; }), parts.end());
    }
    std::sort(parts.begin(), parts.end());
    uint64_t before = 0;
    for (const auto& [offset, bytes] : parts) {
        const uint64_t end = std::min(offset + bytes, file_size_);
        uint64_t begin     = offset;
        if (!steps_.empty() && begin <= steps_.back().end + MAX_GAP_BYTES) {
            begin = steps_.back().end;
        }
        while (begin < end) {
            const bool goes_on = !steps_.empty() && begin == steps_.back().end && begin % WINDOW_BYTES != 0;
            if (!goes_on) {
                steps_.push_back({begin, begin, before});
            }
            const uint64_t step_end = std::min(end, (begin / WINDOW_BYTES + 1) * WINDOW_BYTES);
            steps_.back().end       = step_end;
            before += step_end - begin;
            begin = step_end;
        }
    }
}

void WeightFile::tell_ahead(uint64_t offset) {
    const auto is_before = [](uint64_t place, const Step& step) { return place < step.end; };
    const auto step      = std::upper_bound(steps_.begin(), steps_.end(), offset, is_before);
    if (step == steps_.end()) {
        return;
    }
    size_t next = next_step_;
    while (next < steps_.size() && steps_[next].before <= step->before + AHEAD_BYTES) {
        if (next_step_.compare_exchange_weak(next, next + 1)) {
            const Step& told = steps_[next++];
            posix_fadvise(file_, static_cast<off_t>(told.begin), static_cast<off_t>(told.end - told.begin), POSIX_FADV_WILLNEED);
        }
    }
}

// Half of it or more. The system calls every page cached where the file is another user's and may not be written.
bool WeightFile::is_cached(size_t count, uint64_t offset) const {
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

// A file system that refuses once is not asked again.
void WeightFile::refuse_past_cache() {
    is_refused_ = true;
    posix_fadvise(file_, 0, 0, POSIX_FADV_NORMAL);
}

FileReader::FileReader(WeightFile& file) : file_(file) {}

FileReader::~FileReader() {
    std::free(buffer_);
}

bool FileReader::read(char* to, size_t count, uint64_t offset) {
    if (file_.file_ < 0) {
        return false;
    }
    const bool is_small = count < MIN_BYTES_PAST_CACHE;
    while (count > 0) {
        const size_t part = std::min(count, static_cast<size_t>(WINDOW_BYTES - offset % WINDOW_BYTES));
        file_.tell_ahead(offset);
        const bool is_past = !is_small && read_past_cache(to, part, offset);
        if (!is_past && read_at(file_.file_, to, part, part, offset) != part) {
            return false;
        }
        to += part;
        count -= part;
        offset += part;
    }
    return true;
}

// By way of a buffer: tensors lie differently in files and in memory.
bool FileReader::read_past_cache(char* to, size_t count, uint64_t offset) {
    if (file_.direct_ < 0 || file_.is_refused_ || file_.is_cached(count, offset)) {
        return false;
    }
    if (buffer_ == nullptr) {
        buffer_ = static_cast<char*>(std::aligned_alloc(ALIGNMENT, WINDOW_BYTES));
    }
    const size_t before = static_cast<size_t>(offset % ALIGNMENT);
    const size_t enough = before + count;
    const size_t bytes  = (enough + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (buffer_ == nullptr || read_at(file_.direct_, buffer_, bytes, enough, offset - before) < enough) {
        file_.refuse_past_cache();
        return false;
    }
    std::memcpy(to, buffer_ + before, count);
    bytes_past_cache_ += count;
    *file_.read_before_ += count;
    return true;
}

#else

WeightFile::WeightFile(const std::string&, std::vector<Part>, uint64_t) {}

WeightFile::~WeightFile() = default;

FileReader::FileReader(WeightFile&) {}

FileReader::~FileReader() = default;

bool FileReader::read(char*, size_t, uint64_t) {
    return false;
}

#endif

}  // namespace atelier

int64_t atelier_read_file(const char* path, uint64_t offset, void* to, size_t count, uint64_t announced, uint64_t free_bytes) {
    if (path == nullptr || to == nullptr) {
        return -1;
    }
    try {
        atelier::WeightFile file(path, {{offset, announced}}, free_bytes);
        atelier::FileReader reader(file);
        return reader.read(static_cast<char*>(to), count, offset) ? static_cast<int64_t>(reader.bytes_past_cache()) : -1;
    } catch (...) {
        return -1;
    }
}
