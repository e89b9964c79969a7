// Remembers text encodings, so that a second roll of the same prompt does not run the text encoder again, also where the model was away
// in between.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <typeinfo>

#include "conditioning/conditioner.hpp"
#include "job.h"

namespace atelier {

// What text encoders made of texts, for every model that has the same encoders; models may come and go. Any thread may ask.
class Encodings {
public:
    bool find(const std::string& key, SDCondition& out) {
        std::lock_guard<std::mutex> lock(mutex_);
        for (auto it = entries_.begin(); it != entries_.end(); ++it) {
            if (it->key == key) {
                entries_.splice(entries_.begin(), entries_, it);
                ++found_;
                out = entries_.front().condition;
                return true;
            }
        }
        return false;
    }
    void keep(const std::string& key, const SDCondition& condition) {
        std::lock_guard<std::mutex> lock(mutex_);
        entries_.push_front({key, condition, bytes_of(condition) + key.size()});
        bytes_ += entries_.front().bytes;
        while (bytes_ > MAX_BYTES && entries_.size() > 1) {
            bytes_ -= entries_.back().bytes;
            entries_.pop_back();
        }
    }
    void count_made() {
        std::lock_guard<std::mutex> lock(mutex_);
        ++made_;
    }
    void forget() {
        std::lock_guard<std::mutex> lock(mutex_);
        entries_.clear();
        bytes_ = 0;
    }
    atelier_encoding_counts counts() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return {found_, made_, bytes_};
    }

private:
    struct Entry {
        std::string key;
        SDCondition condition;
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
    std::list<Entry> entries_;  // newest first
    uint64_t bytes_ = 0;
    uint64_t found_ = 0;
    uint64_t made_  = 0;
};

class RememberingConditioner : public Conditioner {
public:
    // `encoders` names the encoders, their device and the model's family: everything but the text on which an encoding depends.
    RememberingConditioner(std::shared_ptr<Conditioner> inner, std::shared_ptr<Encodings> known, std::string encoders)
        : inner_(std::move(inner)), known_(std::move(known)), encoders_(std::move(encoders)) {}

    // The coming calls are a picture's of this model, with these LoRAs. `before` is called when the prompt's turn comes, which is after that of
    // pictures to start from.
    void begin(std::string lora_key, std::function<void()> before) {
        lora_key_ = std::move(lora_key);
        before_   = std::move(before);
    }
    // Whether both encode in the same way.
    bool same_kind(const RememberingConditioner& other) const { return typeid(*inner_) == typeid(*other.inner_); }
    uint64_t hits() const { return hits_; }
    uint64_t misses() const { return misses_; }

    SDCondition get_learned_condition(int n_threads, const ConditionerParams& params) override {
        if (before_) {
            before_();
        }
        SDCondition condition;
        const std::string key = known_ == nullptr ? "" : key_of(params);
        if (known_ != nullptr && known_->find(key, condition)) {
            ++hits_;
            return condition;
        }
        ++misses_;
        ran_           = true;
        condition      = inner_->get_learned_condition(n_threads, params);
        const Job* job = current_job();
        if (known_ != nullptr) {
            known_->count_made();
            if (!condition.empty() && (job == nullptr || !job->cancelled())) {
                known_->keep(key, condition);
            }
        }
        return condition;
    }

    void get_param_tensors(std::map<std::string, ggml_tensor*>& tensors) override { inner_->get_param_tensors(tensors); }
    void set_max_graph_vram_bytes(size_t bytes) override { inner_->set_max_graph_vram_bytes(bytes); }
    void set_stream_layers_enabled(bool enabled) override { inner_->set_stream_layers_enabled(enabled); }
    void set_flash_attention_enabled(bool enabled) override { inner_->set_flash_attention_enabled(enabled); }
    void set_weight_adapter(const std::shared_ptr<WeightAdapter>& adapter) override { inner_->set_weight_adapter(adapter); }

    void runner_done() override {
        if (ran_) {
            inner_->runner_done();
            ran_ = false;
        }
        Job* job = current_job();
        if (job != nullptr && std::uncaught_exceptions() == 0) {
            job->encoded();
        }
    }

private:
    // Everything that the encoders read.
    std::string key_of(const ConditionerParams& params) const {
        std::string key = std::to_string(encoders_.size()) + ' ' + encoders_ + std::to_string(params.clip_skip) + ' ' + std::to_string(params.width) + ' ' + std::to_string(params.height) + ' ' +
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
    std::shared_ptr<Encodings> known_;  // null: nothing is remembered
    std::string encoders_;
    std::function<void()> before_;
    std::string lora_key_;
    uint64_t hits_   = 0;
    uint64_t misses_ = 0;
    bool ran_        = false;
};

}  // namespace atelier
