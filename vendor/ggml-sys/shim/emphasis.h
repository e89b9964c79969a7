// Weights of words for encoders that are language models. A factor on their states means nothing: the means lie near 0, and a norm behind them takes
// factors out again. So a phrase is encoded once more with neutral words in its place, and its states move along the difference.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.hpp"

namespace atelier {

// Phrases with a weight in one prompt; those after them are read without.
constexpr size_t MAX_PHRASES = 32;
// Weights beyond these change no more.
constexpr float MIN_WEIGHT = 0.0f;
constexpr float MAX_WEIGHT = 2.5f;

// Gives the tokens of `words`, which begin with the one at `first`, the weights of the words. `encode` returns the tokens of a text as a whole, of
// which the words' text is the beginning.
template <typename Encode>
void weigh_tokens(std::vector<float>& weights, size_t first, const std::vector<std::pair<std::string, float>>& words, const std::vector<int>& tokens, Encode encode) {
    const auto shared = [&](const std::string& text) -> size_t {
        const std::vector<int> start = encode(text);
        const size_t most            = std::min(start.size(), tokens.size() - std::min(first, tokens.size()));
        size_t count                 = 0;
        while (count < most && start[count] == tokens[first + count]) {
            count++;
        }
        return first + count;
    };
    std::string before;
    size_t phrases = 0;
    for (const auto& [text, weight] : words) {
        if (weight != 1.0f && phrases++ < MAX_PHRASES) {
            // A blank is a part of the word after it.
            const size_t bare  = before.find_last_not_of(" \t\r\n");
            const size_t begin = shared(before.substr(0, bare == std::string::npos ? 0 : bare + 1));
            const size_t end   = std::max(shared(before + text), begin + 1);
            for (size_t i = begin; i < std::min(end, weights.size()); i++) {
                weights[i] = weight;
            }
        }
        before += text;
    }
}

// Moves the states of a prompt's tokens by their weights. `encode` returns the states of other tokens of the same count, of which `neutral` stands
// for words that say nothing.
template <typename Encode>
void emphasise(sd::Tensor<float>& states, const std::vector<int>& tokens, const std::vector<float>& weights, int neutral, Encode encode) {
    // How far the other words lean towards a phrase that is to be more than it says. Where an encoder sees no context, or a norm takes the length of
    // a state away, the phrase's own states have no more to give.
    constexpr float LEAN = 0.4f;
    std::vector<float> distinct;
    for (const float weight : weights) {
        if (weight != 1.0f && std::find(distinct.begin(), distinct.end(), weight) == distinct.end()) {
            distinct.push_back(weight);
        }
    }
    if (distinct.empty()) {
        return;
    }
    const size_t width = static_cast<size_t>(states.shape()[0]);
    const std::vector<float> whole(states.data(), states.data() + states.numel());
    for (const float weight : distinct) {
        std::vector<int> others = tokens;
        size_t count            = 0;
        for (size_t i = 0; i < tokens.size(); i++) {
            if (weights[i] == weight) {
                others[i] = neutral;
                count++;
            }
        }
        const sd::Tensor<float> without = encode(others);
        const float more                = std::clamp(weight, MIN_WEIGHT, MAX_WEIGHT) - 1.0f;
        float* moved                    = states.data();
        std::vector<float> phrase(width, 0.0f);
        for (size_t i = 0; i < tokens.size(); i++) {
            for (size_t k = 0; k < width; k++) {
                const float difference = whole[i * width + k] - without.data()[i * width + k];
                moved[i * width + k] += more * difference;
                phrase[k] += weights[i] == weight ? difference / static_cast<float>(count) : 0.0f;
            }
        }
        for (size_t i = 0; more > 0.0f && i < tokens.size(); i++) {
            for (size_t k = 0; weights[i] != weight && k < width; k++) {
                moved[i * width + k] += LEAN * more * phrase[k];
            }
        }
    }
}

}  // namespace atelier
