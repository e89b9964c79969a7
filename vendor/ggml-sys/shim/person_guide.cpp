#include "person_guide.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "context.h"
#include "extensions/generation_extension.h"
#include "job.h"

namespace atelier {

namespace {

// As in photomaker_extension.cpp.
constexpr const char* TRIGGER_WORD = "img";

// The engine's PhotoMaker, given the conditioner that the context's caching one wraps.
class PersonGuide : public GenerationExtension {
public:
    explicit PersonGuide(std::shared_ptr<GenerationExtension> photomaker) : photomaker_(std::move(photomaker)) {
        std::map<std::string, ggml_tensor*> tensors;
        photomaker_->get_param_tensors(tensors);
        const bool is_v2 = std::any_of(tensors.begin(), tensors.end(), [](const auto& it) { return it.first.find("qformer_perceiver") != std::string::npos; });
        tokens_of_image_ = is_v2 ? 2 : 1;
    }

    const char* name() const override { return photomaker_->name(); }
    bool is_enabled() const override { return photomaker_->is_enabled(); }
    void get_param_tensors(std::map<std::string, ggml_tensor*>& tensors) override { photomaker_->get_param_tensors(tensors); }
    void collect_loras(std::vector<ModelManager::LoraSpec>& loras) override { photomaker_->collect_loras(loras); }
    void add_ignore_tensors(std::set<std::string>& tensors) const override { photomaker_->add_ignore_tensors(tensors); }
    void runner_done() override { photomaker_->runner_done(); }

    void reset_runtime_condition() override {
        photomaker_->reset_runtime_condition();
        condition_       = {};
        last_plain_step_ = std::numeric_limits<int>::max();
    }

    bool prepare_condition(GenerationExtensionConditionContext& context) override {
        reset_runtime_condition();
        const sd_pm_params_t& person = context.pm_params;
        if (person.id_images_count <= 0 || person.id_images == nullptr) {
            return false;
        }
        auto* conditioner = dynamic_cast<CachingConditioner*>(context.conditioner);
        if (conditioner == nullptr) {
            throw EngineAbort{"PhotoMaker found no text encoders"};
        }
        condition_ = conditioner->get_guided_condition(context.condition_params, key_of(person), [&](Conditioner& inner) -> SDCondition {
            auto* encoders = dynamic_cast<FrozenCLIPEmbedderWithCustomWords*>(&inner);
            if (encoders == nullptr) {
                throw EngineAbort{"PhotoMaker does not know these text encoders"};
            }
            check_prompt(*encoders, context.condition_params.text, person.id_images_count * tokens_of_image_);
            GenerationExtensionConditionContext own{&inner, context.condition_params, person, context.n_threads, context.total_steps};
            if (!photomaker_->prepare_condition(own)) {
                const Job* job = current_job();
                if (job != nullptr && job->is_cancelled()) {
                    // The engine stops by itself.
                    return SDCondition{};
                }
                // Also where memory was short: the caller tells these apart.
                throw EngineAbort{"PhotoMaker did not take the pictures of the person"};
            }
            return SDCondition(photomaker_->before_condition(std::numeric_limits<int>::max(), SDCondition{}));
        });
        // As in photomaker_extension.cpp. Not part of the encoding, nor of its key.
        last_plain_step_ = static_cast<int>(person.style_strength / 100.f * context.total_steps);
        return true;
    }

    const SDCondition& before_condition(int step, const SDCondition& condition) const override {
        return !condition_.empty() && step > last_plain_step_ ? condition_ : condition;
    }

private:
    // Key of the pictures and of the file with features of their faces.
    static std::string key_of(const sd_pm_params_t& person) {
        std::string key = "person";
        for (int index = 0; index < person.id_images_count; ++index) {
            const sd_image_t& image = person.id_images[index];
            key += ' ' + std::to_string(image.width) + 'x' + std::to_string(image.height) + ' ';
            key.append(reinterpret_cast<const char*>(image.data), static_cast<size_t>(image.width) * image.height * image.channel);
        }
        if (person.id_embed_path != nullptr) {
            std::ifstream file(person.id_embed_path, std::ios::binary);
            key += ' ';
            key.append(std::istreambuf_iterator<char>(file), {});
        }
        return key;
    }

    // Throws where the engine would end in an assert, or replace the wrong tokens.
    static void check_prompt(FrozenCLIPEmbedderWithCustomWords& encoders, const std::string& text, int person_tokens) {
        const std::vector<int> trigger = encoders.convert_token_to_id(TRIGGER_WORD);
        std::vector<int> tokens        = encoders.tokenize(text).first;
        if (!tokens.empty() && tokens.front() == encoders.tokenizer.BOS_TOKEN_ID) {
            tokens.erase(tokens.begin());
        }
        const auto found = trigger.size() == 1 ? std::find(tokens.begin(), tokens.end(), trigger.front()) : tokens.end();
        if (found == tokens.end() || found == tokens.begin()) {
            throw EngineAbort{"PhotoMaker found no word before img in the prompt"};
        }
        // Behind the first chunk the engine counts no marks between chunks.
        const auto chunk = encoders.text_model->model.n_token - 2;
        if (found - tokens.begin() - 1 + person_tokens > chunk) {
            throw EngineAbort{"PhotoMaker found img too late in the prompt"};
        }
    }

    std::shared_ptr<GenerationExtension> photomaker_;
    int tokens_of_image_ = 1;
    SDCondition condition_;
    // The steps after this one have the person.
    int last_plain_step_ = std::numeric_limits<int>::max();
};

}  // namespace

bool wrap_photomaker(StableDiffusionGGML& sd) {
    for (auto& extension : sd.generation_extensions) {
        extension = std::make_shared<PersonGuide>(std::move(extension));
    }
    return !sd.generation_extensions.empty();
}

}  // namespace atelier
