#include "embeddings.h"

#include <cstring>

namespace atelier {
namespace {

// Access to the protected list of texts that are one token each.
struct TokenizerAccess : Tokenizer {
    // Removes those that came after the tokenizer's own two.
    static void remove_added(Tokenizer& tokenizer) {
        constexpr size_t OWN = 2;  // CLIPTokenizer::CLIPTokenizer
        std::vector<std::string>& tokens = tokenizer.*(&TokenizerAccess::special_tokens);
        if (tokens.size() > OWN) {
            tokens.resize(OWN);
        }
    }
};

}  // namespace

bool set_embeddings(Conditioner& conditioner, const atelier_embedding* embeddings, size_t count) {
    auto* clip = dynamic_cast<FrozenCLIPEmbedderWithCustomWords*>(&conditioner);
    if (clip == nullptr) {
        return count == 0;
    }
    TokenizerAccess::remove_added(clip->tokenizer);
    clip->embedding_map.clear();
    clip->embedding_pos_map.clear();
    clip->token_embed_custom.clear();
    clip->num_custom_embeddings   = 0;
    clip->num_custom_embeddings_2 = 0;

    const size_t width   = static_cast<size_t>(clip->text_model->model.hidden_size);
    const size_t width_2 = clip->text_model2 == nullptr ? 0 : static_cast<size_t>(clip->text_model2->model.hidden_size);
    for (size_t index = 0; index < count; ++index) {
        const atelier_embedding& it = embeddings[index];
        if (it.token == nullptr || it.vectors == nullptr || it.count <= 0 || it.width != static_cast<int>(width) ||
            (width_2 != 0 && (it.vectors_2 == nullptr || it.width_2 != static_cast<int>(width_2)))) {
            return false;
        }
    }
    // All vectors of the first encoder lie before those of the second (patches/conditioner.hpp.patch).
    auto append = [clip](const float* vectors, size_t floats) {
        const auto* bytes = reinterpret_cast<const uint8_t*>(vectors);
        clip->token_embed_custom.insert(clip->token_embed_custom.end(), bytes, bytes + floats * sizeof(float));
    };
    for (size_t index = 0; index < count; ++index) {
        const atelier_embedding& it = embeddings[index];
        clip->tokenizer.add_special_token(it.token);
        clip->embedding_map[it.token]     = "";
        clip->embedding_pos_map[it.token] = {clip->num_custom_embeddings, clip->num_custom_embeddings + it.count};
        clip->num_custom_embeddings += it.count;
        append(it.vectors, static_cast<size_t>(it.count) * width);
    }
    for (size_t index = 0; width_2 != 0 && index < count; ++index) {
        append(embeddings[index].vectors_2, static_cast<size_t>(embeddings[index].count) * width_2);
    }
    return true;
}

}  // namespace atelier
