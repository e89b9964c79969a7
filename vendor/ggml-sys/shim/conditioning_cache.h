// Cache of text encodings: a second image of the same prompt does not run the text encoder, even if the model was closed in between.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <typeinfo>

#include "conditioning/conditioner.hpp"
#include "embeddings.h"
#include "job.h"

namespace atelier {

// Least recently used cache, shared by all contexts. Thread-safe.
class ConditioningCache {
public:
    // `text`, where it is not null, becomes the prompt that is kept with the condition.
    bool find(const std::string& key, SDCondition& out, std::string* text = nullptr) {
        std::lock_guard<std::mutex> lock(mutex_);
        for (auto it = entries_.begin(); it != entries_.end(); ++it) {
            if (it->key == key) {
                entries_.splice(entries_.begin(), entries_, it);
                ++hits_;
                out = entries_.front().condition;
                if (text != nullptr) {
                    *text = entries_.front().text;
                }
                return true;
            }
        }
        return false;
    }
    void insert(const std::string& key, const SDCondition& condition, const std::string& text = {}) {
        std::lock_guard<std::mutex> lock(mutex_);
        entries_.push_front({key, condition, text, bytes_of(condition) + key.size() + text.size()});
        bytes_ += entries_.front().bytes;
        while (bytes_ > MAX_BYTES && entries_.size() > 1) {
            bytes_ -= entries_.back().bytes;
            entries_.pop_back();
        }
    }
    void count_miss() {
        std::lock_guard<std::mutex> lock(mutex_);
        ++misses_;
    }
    void clear() {
        std::lock_guard<std::mutex> lock(mutex_);
        entries_.clear();
        bytes_ = 0;
    }
    atelier_conditioning_stats stats() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return {hits_, misses_, bytes_};
    }

private:
    struct Entry {
        std::string key;
        SDCondition condition;
        std::string text;
        uint64_t bytes;
    };

    static constexpr uint64_t MAX_BYTES = 256u << 20;

    static uint64_t bytes_of(const SDCondition& condition) {
        size_t numbers = condition.c_crossattn.numel() + condition.c_vector.numel() + condition.c_concat.numel() + condition.c_t5_ids.numel() +
                         condition.c_t5_weights.numel() + condition.c_input_ids.numel() + condition.c_position_ids.numel() +
                         condition.c_token_types.numel() + condition.c_vinput_mask.numel();
        for (const auto& embed : condition.c_image_embeds) {
            numbers += embed.second.numel();
        }
        for (const auto& image : condition.c_ref_images) {
            numbers += image.numel();
        }
        for (const auto& extra : condition.extra_c_crossattns) {
            numbers += extra.numel();
        }
        return static_cast<uint64_t>(numbers) * sizeof(float);
    }

    mutable std::mutex mutex_;
    std::list<Entry> entries_;  // most recently used first
    uint64_t bytes_  = 0;
    uint64_t hits_   = 0;
    uint64_t misses_ = 0;
};

// Conditioner that looks texts up in the cache before it runs the wrapped one.
class CachingConditioner : public Conditioner {
public:
    // `key_prefix` identifies the encoders, their device and the model's family: everything but the text on which an encoding depends. Without
    // `cache` nothing is cached.
    CachingConditioner(std::shared_ptr<Conditioner> inner, std::shared_ptr<ConditioningCache> cache, std::string key_prefix)
        : inner_(std::move(inner)), cache_(std::move(cache)), key_prefix_(std::move(key_prefix)) {}

    // Begins an image with these LoRAs. `before_prompt` is called before each prompt is encoded, which is after the init image was.
    void begin_image(std::string lora_key, std::function<void()> before_prompt) {
        lora_key_      = std::move(lora_key);
        ran_in_image_  = false;
        before_prompt_ = std::move(before_prompt);
    }
    // See atelier::set_embeddings; for the images that follow.
    bool set_embeddings(const atelier_embedding* embeddings, size_t count) { return atelier::set_embeddings(*inner_, embeddings, count); }
    const Conditioner& inner() const { return *inner_; }
    // True where both wrap conditioners of the same type.
    bool has_same_type(const CachingConditioner& other) const { return typeid(*inner_) == typeid(*other.inner_); }
    // True where the text encoder ran for this image.
    bool ran_in_image() const { return ran_in_image_; }
    uint64_t hits() const { return hits_; }
    uint64_t misses() const { return misses_; }

    SDCondition get_learned_condition(int n_threads, const ConditionerParams& params) override {
        begin_prompt();
        SDCondition condition;
        const std::string key = cache_ == nullptr ? "" : key_of(params);
        if (cache_ != nullptr && cache_->find(key, condition)) {
            ++hits_;
            return condition;
        }
        count_run();
        condition = inner_->get_learned_condition(n_threads, params);
        keep(key, condition);
        return condition;
    }

    // Condition of a prompt with a guide, which `guide_key` identifies: from the cache, or what `encode` returns, which is given the wrapped
    // conditioner. `encode` may change the text of `params`; so does the cache.
    template <typename Encode>
    SDCondition get_guided_condition(ConditionerParams& params, const std::string& guide_key, Encode encode) {
        begin_prompt();
        SDCondition condition;
        const std::string key = cache_ == nullptr ? "" : "guided " + std::to_string(guide_key.size()) + ' ' + guide_key + key_of(params);
        if (cache_ != nullptr && cache_->find(key, condition, &params.text)) {
            ++hits_;
            return condition;
        }
        count_run();
        condition = encode(*inner_);
        keep(key, condition, params.text);
        return condition;
    }

    void get_param_tensors(std::map<std::string, ggml_tensor*>& tensors) override { inner_->get_param_tensors(tensors); }
    void set_max_graph_vram_bytes(size_t bytes) override { inner_->set_max_graph_vram_bytes(bytes); }
    void set_stream_layers_enabled(bool enabled) override { inner_->set_stream_layers_enabled(enabled); }
    void set_flash_attention_enabled(bool enabled) override { inner_->set_flash_attention_enabled(enabled); }
    void set_weight_adapter(const std::shared_ptr<WeightAdapter>& adapter) override { inner_->set_weight_adapter(adapter); }

    void runner_done() override {
        if (encoder_ran_) {
            inner_->runner_done();
            encoder_ran_ = false;
        }
        Job* job = current_job();
        if (job != nullptr && std::uncaught_exceptions() == 0) {
            job->finish_encoding();
        }
    }

private:
    void begin_prompt() const {
        if (before_prompt_) {
            before_prompt_();
        }
        if (const Job* job = current_job()) {
            // The engine goes on without a LoRA that it could not load: no encoding is made, kept or found under that LoRA's key.
            job->check_loras();
        }
    }

    // The text encoder is about to run.
    void count_run() {
        ++misses_;
        encoder_ran_  = true;
        ran_in_image_ = true;
    }

    void keep(const std::string& key, const SDCondition& condition, const std::string& text = {}) {
        if (cache_ == nullptr) {
            return;
        }
        cache_->count_miss();
        const Job* job = current_job();
        if (!condition.empty() && (job == nullptr || !job->is_cancelled())) {
            cache_->insert(key, condition, text);
        }
    }

    // Key of everything that the encoders read.
    std::string key_of(const ConditionerParams& params) const {
        std::string key = std::to_string(key_prefix_.size()) + ' ' + key_prefix_ + std::to_string(params.clip_skip) + ' ' + std::to_string(params.width) + ' ' + std::to_string(params.height) + ' ' +
                          std::to_string(params.zero_out_masked) + ' ' + std::to_string(lora_key_.size()) + ' ' + lora_key_ +
                          std::to_string(params.text.size()) + ' ' + params.text;
        if (params.ref_images != nullptr) {
            for (const auto& image : *params.ref_images) {
                key += ' ';
                for (int64_t side : image.shape()) {
                    key += std::to_string(side) + 'x';
                }
                key.append(reinterpret_cast<const char*>(image.data()), static_cast<size_t>(image.numel()) * sizeof(float));
            }
        }
        return key;
    }

    std::shared_ptr<Conditioner> inner_;
    std::shared_ptr<ConditioningCache> cache_;  // may be null
    std::string key_prefix_;
    std::function<void()> before_prompt_;
    std::string lora_key_;
    uint64_t hits_    = 0;
    uint64_t misses_  = 0;
    bool encoder_ran_ = false;
    bool ran_in_image_ = false;
};

}  // namespace atelier
