// Prompts that AND joins, as AUTOMATIC1111 composes them: each moves the picture away from the negative prompt, by as much as it weighs.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "conditioning/conditioner.hpp"
#include "job.h"
#include "prompt_words.h"

namespace atelier {

// The condition of a prompt, with those of the prompts that are joined to it. `encode` makes the condition of one of them.
template <typename Encode>
SDCondition joined_condition(const std::string& text, Encode encode) {
    const auto prompts = atelier_joined_prompts(text);
    SDCondition first  = encode(prompts.front().first);
    first.atelier_weight = prompts.front().second;
    for (size_t i = 1; i < prompts.size(); i++) {
        auto other            = std::make_shared<SDCondition>(encode(prompts[i].first));
        other->atelier_weight = prompts[i].second;
        first.atelier_joined.push_back(std::move(other));
    }
    Job* job = current_job();
    if (job != nullptr && prompts.size() > 1) {
        // One more is the negative prompt's.
        job->set_graphs_per_step(static_cast<int>(prompts.size()) + 1);
    }
    return first;
}

// What joined prompts predict together: guidance takes it for the prediction of one. `own` is the prediction of `condition`, `unguided` that of the
// negative prompt; `predict` makes those of the others. Empty where one of them is.
template <typename Predict>
sd::Tensor<float> joined_prediction(const SDCondition& condition, const sd::Tensor<float>& own, const sd::Tensor<float>& unguided, Predict predict) {
    sd::Tensor<float> joined = unguided + condition.atelier_weight * (own - unguided);
    for (const std::shared_ptr<SDCondition>& other : condition.atelier_joined) {
        const sd::Tensor<float> prediction = predict(*other);
        if (prediction.empty()) {
            return {};
        }
        joined += other->atelier_weight * (prediction - unguided);
    }
    return joined;
}

}  // namespace atelier
