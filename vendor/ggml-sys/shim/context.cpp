#include "context.h"

namespace atelier {

namespace {

// The runners within a conditioner of this type, if it is one.
template <typename Type, typename... Runner>
void add_runners(const Conditioner* conditioner, std::vector<GGMLRunner*>& runners, Runner Type::*... members) {
    if (const auto* it = dynamic_cast<const Type*>(conditioner)) {
        (runners.push_back((it->*members).get()), ...);
    }
}

}  // namespace

std::vector<GGMLRunner*> runners_of(const Conditioner* conditioner) {
    std::vector<GGMLRunner*> runners;
    add_runners(conditioner, runners, &FrozenCLIPEmbedderWithCustomWords::text_model, &FrozenCLIPEmbedderWithCustomWords::text_model2);
    add_runners(conditioner, runners, &SD3CLIPEmbedder::clip_l, &SD3CLIPEmbedder::clip_g, &SD3CLIPEmbedder::t5);
    add_runners(conditioner, runners, &FluxCLIPEmbedder::clip_l, &FluxCLIPEmbedder::t5);
    add_runners(conditioner, runners, &T5CLIPEmbedder::t5);
    add_runners(conditioner, runners, &AnimaConditioner::llm);
    add_runners(conditioner, runners, &LLMEmbedder::llm);
    add_runners(conditioner, runners, &LTXAVEmbedder::llm, &LTXAVEmbedder::projector);
    return runners;
}

}  // namespace atelier
