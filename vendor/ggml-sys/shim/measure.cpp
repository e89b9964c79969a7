// Times operations on a device as the engine has them computed: by the device's own backend, through the hooks of every graph.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "error_boundary.h"
#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml-impl.h"
#include "ggml.h"
#include "job.h"
#include "shim.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <emmintrin.h>
#endif

namespace atelier {

namespace {

// Longest graph: one of a large model has a few thousand nodes.
constexpr int MAX_NODES = 4096;
// Values of a row of activations.
constexpr int64_t ROW_VALUES = 1024;
// Values of a head where the order of values is changed, as attention does it.
constexpr int64_t HEAD_VALUES = 64;
constexpr int64_t HEADS       = 16;

struct ContextDeleter {
    void operator()(ggml_context* context) const { ggml_free(context); }
};
struct BackendDeleter {
    void operator()(ggml_backend* backend) const { ggml_backend_free(backend); }
};
struct BufferDeleter {
    void operator()(ggml_backend_buffer* buffer) const { ggml_backend_buffer_free(buffer); }
};

ggml_type type_named(const char* name) {
    for (int type = 0; name != nullptr && type < GGML_TYPE_COUNT; ++type) {
        if (ggml_type_name(static_cast<ggml_type>(type)) != nullptr && std::strcmp(ggml_type_name(static_cast<ggml_type>(type)), name) == 0) {
            return static_cast<ggml_type>(type);
        }
    }
    return GGML_TYPE_COUNT;
}

// Smooth values between -1 and 1: neither zeros, which some devices compute with less power, nor numbers too small to be normal.
std::vector<uint8_t> values_of(const ggml_tensor* tensor) {
    const int64_t row = tensor->ne[0];
    std::vector<float> floats(row);
    for (int64_t i = 0; i < row; ++i) {
        floats[i] = static_cast<float>((i * 37 + 11) % 127 - 63) / 64.0f;
    }
    const size_t row_bytes = ggml_row_size(tensor->type, row);
    std::vector<uint8_t> bytes(ggml_nbytes(tensor));
    ggml_quantize_chunk(tensor->type, floats.data(), bytes.data(), 0, 1, row, nullptr);
    for (size_t at = row_bytes; at + row_bytes <= bytes.size(); at += row_bytes) {
        std::memcpy(bytes.data() + at, bytes.data(), row_bytes);
    }
    return bytes;
}

constexpr size_t CACHE_LINE = 64;

// Reads one byte of each line of the caches.
void read_lines(const void* bytes, size_t count) {
    volatile uint8_t sum = 0;
    for (size_t at = 0; at < count; at += CACHE_LINE) {
        sum = static_cast<uint8_t>(sum + static_cast<const uint8_t*>(bytes)[at]);
    }
}

// Takes bytes out of all caches, where the processor has an instruction for that.
void evict_lines(const void* bytes, size_t count) {
#if defined(__x86_64__) || defined(_M_X64)
    for (size_t at = 0; at < count; at += CACHE_LINE) {
        _mm_clflush(static_cast<const uint8_t*>(bytes) + at);
    }
    _mm_mfence();
#else
    (void)bytes;
    (void)count;
#endif
}

// A graph of one operation, some times over. The nodes share activations and the memory of their results, which are in the processor's caches
// then, as they are in a picture, where a node reads what the one before it wrote; weights are each node's own.
class OperationGraph {
public:
    OperationGraph(const atelier_operation& operation, ggml_type type) : type_(type), kind_(operation.kind) {
        std::copy(std::begin(operation.size), std::end(operation.size), size_);
        // An unfolded convolution makes the most of them: nine.
        const size_t tensors = static_cast<size_t>(operation.nodes) * 16 + 16;
        context_.reset(ggml_init({tensors * ggml_tensor_overhead() + ggml_graph_overhead_custom(tensors, false), nullptr, true}));
        graph_ = ggml_new_graph_custom(context_.get(), tensors, false);
        for (int node = 0; node < operation.nodes; ++node) {
            ggml_build_forward_expand(graph_, add_node());
        }
        for (int i = 0; i < ggml_graph_n_nodes(graph_); ++i) {
            if (ggml_tensor* tensor = ggml_graph_node(graph_, i); tensor->view_src == nullptr) {
                results_.push_back(tensor);
            }
        }
        results_of_a_node_ = results_.size() / operation.nodes;
    }

    // False where the device does not compute the operation.
    bool is_supported(ggml_backend_dev_t device) const {
        if (is_remote(device)) {
            return true;
        }
        for (int i = 0; i < ggml_graph_n_nodes(graph_); ++i) {
            const ggml_tensor* node = ggml_graph_node(graph_, i);
            if (!ggml_op_is_empty(node->op) && !ggml_backend_dev_supports_op(device, node)) {
                return false;
            }
        }
        return true;
    }

    void allocate(ggml_backend_t backend) {
        std::vector<ggml_tensor*> with_own_memory = inputs_;
        with_own_memory.insert(with_own_memory.end(), results_.begin(), results_.begin() + results_of_a_node_);
        ggml_backend_buffer_type_t type = ggml_backend_get_default_buffer_type(backend);
        const size_t alignment          = ggml_backend_buft_get_alignment(type);
        size_t bytes                    = alignment;
        for (const ggml_tensor* tensor : with_own_memory) {
            bytes += GGML_PAD(ggml_backend_buft_get_alloc_size(type, tensor), alignment);
        }
        buffer_.reset(ggml_backend_buft_alloc_buffer(type, bytes));
        if (buffer_ == nullptr) {
            throw std::bad_alloc();
        }
        ggml_tallocr allocator = ggml_tallocr_new(buffer_.get());
        for (ggml_tensor* tensor : with_own_memory) {
            require(ggml_tallocr_alloc(&allocator, tensor));
        }
        for (size_t i = results_of_a_node_; i < results_.size(); ++i) {
            require(ggml_backend_tensor_alloc(buffer_.get(), results_[i], results_[i % results_of_a_node_]->data));
        }
        for (ggml_tensor* tensor = ggml_get_first_tensor(context_.get()); tensor != nullptr; tensor = ggml_get_next_tensor(context_.get(), tensor)) {
            if (tensor->view_src != nullptr) {
                require(ggml_backend_view_init(tensor));
            }
        }
        for (ggml_tensor* input : inputs_) {
            ggml_backend_tensor_set(input, values_of(input).data(), 0, ggml_nbytes(input));
        }
    }

    // Brings the processor's caches into the state that they have in a picture: weights are in memory alone, activations and the memory of results
    // in the caches, as far as they fit. For what the processor computes.
    void prepare_caches(const std::vector<uint8_t>& evicting) const {
        read_lines(evicting.data(), evicting.size());
        for (const ggml_tensor* input : inputs_) {
            evict_lines(input->data, ggml_nbytes(input));
        }
        read_lines(shared_->data, ggml_nbytes(shared_));
        for (size_t i = 0; i < results_of_a_node_; ++i) {
            read_lines(results_[i]->data, ggml_nbytes(results_[i]));
        }
    }

    // Computes the graph and reads a value back, as the engine does after each graph.
    ggml_status compute(ggml_backend_t backend) {
        const ggml_status status = ggml_backend_graph_compute(backend, graph_);
        uint8_t value[4];
        ggml_backend_tensor_get(results_.back(), value, 0, sizeof(value));
        return status;
    }

private:
    static void require(ggml_status status) {
        if (status != GGML_STATUS_SUCCESS) {
            throw std::bad_alloc();
        }
    }
    ggml_tensor* input(ggml_type type, int64_t n0, int64_t n1, int64_t n2) {
        inputs_.push_back(ggml_new_tensor_3d(context_.get(), type, n0, n1, n2));
        return inputs_.back();
    }
    // The same for all nodes.
    ggml_tensor* shared(ggml_type type, int64_t n0, int64_t n1, int64_t n2) {
        if (shared_ == nullptr) {
            shared_ = input(type, n0, n1, n2);
        }
        return shared_;
    }

    ggml_tensor* add_node() {
        ggml_context* context = context_.get();
        switch (kind_) {
            case ATELIER_OPERATION_PRODUCT: {
                ggml_tensor* activations = shared(GGML_TYPE_F32, size_[2], size_[1], 1);
                return ggml_mul_mat(context, input(type_, size_[2], size_[0], 1), activations);
            }
            case ATELIER_OPERATION_CONVOLUTION:
            case ATELIER_OPERATION_UNFOLDED: {
                const auto convolve  = kind_ == ATELIER_OPERATION_UNFOLDED ? ggml_conv_2d : ggml_conv_2d_direct;
                ggml_tensor* image   = shared(GGML_TYPE_F32, size_[0], size_[0], size_[1]);
                ggml_tensor* weights = ggml_reshape_4d(context, input(type_, 3 * 3 * size_[1], size_[2], 1), 3, 3, size_[1], size_[2]);
                return convolve(context, weights, image, 1, 1, 1, 1, 1, 1);
            }
            case ATELIER_OPERATION_ATTENTION: {
                ggml_tensor* queries = shared(GGML_TYPE_F32, size_[0], size_[1], size_[2]);
                ggml_tensor* keys    = input(type_, size_[0], size_[1], size_[2]);
                ggml_tensor* values  = input(type_, size_[0], size_[1], size_[2]);
                ggml_tensor* result  = ggml_flash_attn_ext(context, queries, keys, values, nullptr, 0.1f, 0.0f, 0.0f);
                ggml_flash_attn_ext_set_prec(result, GGML_PREC_F32);
                return result;
            }
            case ATELIER_OPERATION_PERMUTE: {
                ggml_tensor* rows = shared(GGML_TYPE_F32, HEAD_VALUES, HEADS, size_[0] / (HEAD_VALUES * HEADS));
                return ggml_cont(context, ggml_permute(context, rows, 0, 2, 1, 3));
            }
            default: {
                const int64_t length = size_[0] < ROW_VALUES ? size_[0] : ROW_VALUES;
                ggml_tensor* rows    = shared(GGML_TYPE_F32, length, size_[0] / length, 1);
                switch (kind_) {
                    case ATELIER_OPERATION_NORM: return ggml_norm(context, rows, 1e-5f);
                    case ATELIER_OPERATION_SOFT_MAX: return ggml_soft_max(context, rows);
                    case ATELIER_OPERATION_TRANSPOSE: return ggml_cont(context, ggml_transpose(context, rows));
                    case ATELIER_OPERATION_CONVERT: return ggml_cast(context, rows, GGML_TYPE_F16);
                    case ATELIER_OPERATION_SILU: return ggml_silu(context, rows);
                    case ATELIER_OPERATION_GELU: return ggml_gelu(context, rows);
                    default: return ggml_add(context, rows, rows);
                }
            }
        }
    }

    std::unique_ptr<ggml_context, ContextDeleter> context_;
    std::unique_ptr<ggml_backend_buffer, BufferDeleter> buffer_;
    ggml_cgraph* graph_ = nullptr;
    std::vector<ggml_tensor*> inputs_;
    // Of all nodes, in the order in which they are computed, intermediate ones among them.
    std::vector<ggml_tensor*> results_;
    size_t results_of_a_node_ = 0;
    ggml_tensor* shared_ = nullptr;
    ggml_type type_;
    int kind_;
    int64_t size_[3] = {};
};

std::vector<uint8_t> bytes_to_copy(size_t count) {
    std::vector<uint8_t> bytes(count);
    for (size_t i = 0; i < count; ++i) {
        bytes[i] = static_cast<uint8_t>(i * 131 + (i >> 8));
    }
    return bytes;
}

// A tensor of bytes that are copied between the program and a device.
class CopyBuffer {
public:
    CopyBuffer(ggml_backend_t backend, const std::vector<uint8_t>& bytes) {
        context_.reset(ggml_init({2 * ggml_tensor_overhead(), nullptr, true}));
        tensor_ = ggml_new_tensor_1d(context_.get(), GGML_TYPE_I8, static_cast<int64_t>(bytes.size()));
        buffer_.reset(ggml_backend_alloc_ctx_tensors(context_.get(), backend));
        if (buffer_ == nullptr) {
            throw std::bad_alloc();
        }
        upload(bytes);
    }

    void upload(const std::vector<uint8_t>& bytes) { ggml_backend_tensor_set(tensor_, bytes.data(), 0, bytes.size()); }
    void download(std::vector<uint8_t>* bytes) { ggml_backend_tensor_get(tensor_, bytes->data(), 0, bytes->size()); }

private:
    std::unique_ptr<ggml_context, ContextDeleter> context_;
    std::unique_ptr<ggml_backend_buffer, BufferDeleter> buffer_;
    ggml_tensor* tensor_ = nullptr;
};

// Writes once to each page of a new buffer of the processor's memory; false where there is no room.
bool use_new_memory(ggml_backend_t backend, size_t bytes) {
    constexpr size_t PAGE = 4096;
    std::unique_ptr<ggml_backend_buffer, BufferDeleter> buffer(ggml_backend_alloc_buffer(backend, bytes));
    if (buffer == nullptr) {
        return false;
    }
    auto* memory = static_cast<volatile uint8_t*>(ggml_backend_buffer_get_base(buffer.get()));
    for (size_t at = 0; at < bytes; at += PAGE) {
        memory[at] = 1;
    }
    return true;
}

bool is_copy(int kind) {
    return kind == ATELIER_OPERATION_UPLOAD || kind == ATELIER_OPERATION_DOWNLOAD || kind == ATELIER_OPERATION_UPLOAD_NEW;
}

// True for sizes that make a graph: positive, in whole blocks, below what a device holds.
bool is_valid(const atelier_operation& operation, ggml_type type) {
    constexpr int64_t MAX_SIZE = int64_t(1) << 30;
    for (int64_t size : operation.size) {
        if (size < 1 || size > MAX_SIZE) {
            return false;
        }
    }
    if (operation.nodes < 1 || operation.nodes > MAX_NODES) {
        return false;
    }
    switch (operation.kind) {
        case ATELIER_OPERATION_PRODUCT: return type != GGML_TYPE_COUNT && !ggml_quantize_requires_imatrix(type) && operation.size[2] % ggml_blck_size(type) == 0;
        case ATELIER_OPERATION_CONVOLUTION:
        case ATELIER_OPERATION_UNFOLDED:
        case ATELIER_OPERATION_ATTENTION: return type == GGML_TYPE_F32 || type == GGML_TYPE_F16;
        case ATELIER_OPERATION_PERMUTE: return operation.size[0] >= HEAD_VALUES * HEADS;
        case ATELIER_OPERATION_ADD:
        case ATELIER_OPERATION_NORM:
        case ATELIER_OPERATION_SOFT_MAX:
        case ATELIER_OPERATION_SILU:
        case ATELIER_OPERATION_GELU:
        case ATELIER_OPERATION_TRANSPOSE:
        case ATELIER_OPERATION_CONVERT:
        case ATELIER_OPERATION_UPLOAD:
        case ATELIER_OPERATION_DOWNLOAD:
        case ATELIER_OPERATION_ALLOCATE:
        case ATELIER_OPERATION_UPLOAD_NEW: return true;
        default: return false;
    }
}

// Bytes that push others out of the caches when they are read, where there is no instruction for that.
#if defined(__x86_64__) || defined(_M_X64)
constexpr size_t EVICTING_BYTES = 0;
#else
constexpr size_t EVICTING_BYTES = 48 << 20;
#endif

// Calls `work` once to warm up, then `repeats` times, `prepare` before each; stops early after `limit_seconds` or a cancel. `speed`: of what the
// processor computes, its part of the processor's speed; 0 for all else.
template <typename Prepare, typename Work>
atelier_status repeat(const Job& job,
                      double speed,
                      double limit_seconds,
                      double* seconds,
                      size_t repeats,
                      size_t* count,
                      Prepare prepare,
                      Work work) {
    using Clock      = std::chrono::steady_clock;
    const auto begin = Clock::now();
    for (size_t round = 0; round <= repeats; ++round) {
        if (job.is_cancelled()) {
            return ATELIER_CANCELLED;
        }
        prepare();
        const double cpu_start = thread_seconds();
        const auto start       = Clock::now();
        if (const ggml_status status = work(); status != GGML_STATUS_SUCCESS) {
            return status == GGML_STATUS_ABORTED ? ATELIER_CANCELLED : ATELIER_FAILED;
        }
        const double cpu_seconds = thread_seconds() - cpu_start;
        const auto end           = Clock::now();
        if (round > 0) {
            seconds[(*count)++] = speed > 0.0 ? cpu_seconds / speed : std::chrono::duration<double>(end - start).count();
        }
        if (*count > 0 && std::chrono::duration<double>(end - begin).count() > limit_seconds) {
            break;
        }
    }
    return ATELIER_OK;
}

}  // namespace

}  // namespace atelier

struct atelier_measurement {
    ggml_backend_dev_t device = nullptr;
    double speed              = 0.0;
    std::vector<uint8_t> evicting;
    std::unique_ptr<ggml_backend, atelier::BackendDeleter> backend;
    // Keeps the connection to another machine open.
    std::unique_ptr<ggml_backend_buffer, atelier::BufferDeleter> buffer;
};

atelier_status atelier_measurement_new(const char* device_name, int threads, const atelier_callbacks* callbacks, atelier_measurement** out) {
    if (device_name == nullptr || callbacks == nullptr || out == nullptr) {
        return atelier::reject("a measurement needs a device");
    }
    *out = nullptr;
    atelier_init();
    atelier::Job job(*callbacks);
    return atelier::run_guarded(&job, [&] {
        auto measurement = std::make_unique<atelier_measurement>();
        {
            std::lock_guard<std::mutex> lock(atelier::device_list_mutex());
            measurement->device = ggml_backend_dev_by_name(device_name);
        }
        if (measurement->device == nullptr) {
            return atelier::reject("there is no device of this name");
        }
        atelier::set_simulated_threads(threads);
        measurement->backend.reset(ggml_backend_dev_init(measurement->device, nullptr));
        if (measurement->backend == nullptr) {
            atelier::last_error = "the device could not be used";
            return ATELIER_FAILED;
        }
        measurement->buffer.reset(ggml_backend_alloc_buffer(measurement->backend.get(), 4096));
        measurement->speed = atelier::simulated_speed(measurement->device);
        if (ggml_backend_is_cpu(measurement->backend.get())) {
            ggml_backend_cpu_set_n_threads(measurement->backend.get(), threads > 0 ? threads : 1);
            measurement->speed = 1.0;
        }
        if (measurement->speed > 0.0) {
            measurement->evicting.assign(atelier::EVICTING_BYTES, 1);
        }
        *out = measurement.release();
        return ATELIER_OK;
    });
}

void atelier_measurement_free(atelier_measurement* measurement) {
    atelier::run_guarded(nullptr, [=] {
        delete measurement;
        return ATELIER_OK;
    });
}

atelier_status atelier_measurement_run(atelier_measurement* measurement,
                                       const atelier_operation* operation,
                                       double limit_seconds,
                                       const atelier_callbacks* callbacks,
                                       double* seconds,
                                       size_t repeats,
                                       size_t* count) {
    if (measurement == nullptr || operation == nullptr || callbacks == nullptr || seconds == nullptr || count == nullptr) {
        return atelier::reject("a measurement needs an operation");
    }
    *count               = 0;
    const ggml_type type = atelier::type_named(operation->weights);
    if (!atelier::is_valid(*operation, type)) {
        return atelier::reject("no such operation");
    }
    atelier::Job job(*callbacks);
    return atelier::run_guarded(&job, [&] {
        ggml_backend_t backend = measurement->backend.get();
        if (atelier::is_copy(operation->kind)) {
            std::vector<uint8_t> bytes = atelier::bytes_to_copy(static_cast<size_t>(operation->size[0]));
            atelier::CopyBuffer buffer(backend, bytes);
            return atelier::repeat(job, 0.0, limit_seconds, seconds, repeats, count, [] {}, [&] {
                switch (operation->kind) {
                    case ATELIER_OPERATION_UPLOAD: buffer.upload(bytes); break;
                    case ATELIER_OPERATION_DOWNLOAD: buffer.download(&bytes); break;
                    default: atelier::CopyBuffer(backend, bytes); break;
                }
                return GGML_STATUS_SUCCESS;
            });
        }
        if (operation->kind == ATELIER_OPERATION_ALLOCATE) {
            if (measurement->speed <= 0.0) {
                return ATELIER_OK;
            }
            return atelier::repeat(job, measurement->speed, limit_seconds, seconds, repeats, count, [] {}, [&] {
                return atelier::use_new_memory(backend, static_cast<size_t>(operation->size[0])) ? GGML_STATUS_SUCCESS : GGML_STATUS_ALLOC_FAILED;
            });
        }
        atelier::OperationGraph graph(*operation, type);
        if (!graph.is_supported(measurement->device)) {
            return ATELIER_OK;
        }
        graph.allocate(backend);
        const auto prepare = [&] {
            if (measurement->speed > 0.0) {
                graph.prepare_caches(measurement->evicting);
            }
        };
        return atelier::repeat(job, measurement->speed, limit_seconds, seconds, repeats, count, prepare,
                               [&] { return graph.compute(backend); });
    });
}
