#include "prompt_words.h"

#include <cmath>
#include <cstdlib>
#include <optional>

namespace {

constexpr float MORE = 1.1f;
constexpr float LESS = 1 / 1.1f;
// Brackets that are open at once: more than these are letters, so that each word is weighted as often at most.
constexpr size_t MAX_OPEN = 64;
// Prompts that are joined: the diffusion module runs once for each in every step. The last one has the rest, whatever it says.
constexpr size_t MAX_JOINED = 16;

using Words = std::vector<std::pair<std::string, float>>;

// Characters are of the C locale, whatever the process has chosen.
bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_bracket(char c) {
    return c == '(' || c == ')' || c == '[' || c == ']';
}

bool is_of_word(char c) {
    return is_letter(c) || is_digit(c) || c == '_';
}

struct Weight {
    float value;
    // Behind the bracket that ends it.
    size_t end;
};

// The weight that begins with the colon at `start`: blanks, a decimal number, blanks, `)`.
std::optional<Weight> weight_at(const std::string& text, size_t start) {
    size_t at = start + 1;
    while (at < text.size() && is_space(text[at])) {
        at++;
    }
    const size_t first = at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) {
        at++;
    }
    size_t digits = 0, points = 0;
    for (; at < text.size() && (is_digit(text[at]) || text[at] == '.'); at++) {
        (text[at] == '.' ? points : digits)++;
    }
    const std::string number = text.substr(first, at - first);
    while (at < text.size() && is_space(text[at])) {
        at++;
    }
    if (digits == 0 || points > 1 || at >= text.size() || text[at] != ')') {
        return std::nullopt;
    }
    const float value = std::strtof(number.c_str(), nullptr);
    return std::isfinite(value) ? std::optional<Weight>({value, at + 1}) : std::nullopt;
}

// True where a word, which is no part of another, stands at this place.
bool is_word(const std::string& text, size_t at, const std::string& word) {
    const size_t end  = at + word.size();
    const bool begins = at == 0 || !is_of_word(text[at - 1]);
    return begins && text.compare(at, word.size(), word) == 0 && (end >= text.size() || !is_of_word(text[end]));
}

bool is_break(const std::string& text, size_t at) {
    static const std::string WORD = "BREAK";
    return is_word(text, at, WORD);
}

// One of several prompts, without the weight that it ends with: blanks, a colon, blanks, a decimal number, blanks.
std::pair<std::string, float> prompt_with_weight(const std::string& text) {
    size_t end = text.size();
    while (end > 0 && is_space(text[end - 1])) {
        end--;
    }
    size_t first = end, digits = 0, points = 0;
    for (; first > 0 && (is_digit(text[first - 1]) || text[first - 1] == '.'); first--) {
        (text[first - 1] == '.' ? points : digits)++;
    }
    if (first > 0 && (text[first - 1] == '+' || text[first - 1] == '-')) {
        first--;
    }
    size_t colon = first;
    while (colon > 0 && is_space(text[colon - 1])) {
        colon--;
    }
    if (digits == 0 || points > 1 || colon == 0 || text[colon - 1] != ':') {
        return {text, 1.0f};
    }
    const float value = std::strtof(text.substr(first, end - first).c_str(), nullptr);
    if (!std::isfinite(value)) {
        return {text, 1.0f};
    }
    return {text.substr(0, colon - 1), value};
}

// The open brackets of a kind: how many words there were before each.
class Open {
public:
    bool open(const Words& words) {
        if (starts.size() >= MAX_OPEN) {
            return false;
        }
        starts.push_back(words.size());
        return true;
    }

    bool close(Words& words, float factor) {
        if (starts.empty()) {
            return false;
        }
        weigh(words, starts.back(), factor);
        starts.pop_back();
        return true;
    }

    // What was never closed reaches to the end.
    void close_all(Words& words, float factor) const {
        for (const size_t start : starts) {
            weigh(words, start, factor);
        }
    }

private:
    static void weigh(Words& words, size_t start, float factor) {
        for (size_t i = start; i < words.size(); i++) {
            words[i].second *= factor;
        }
    }

    std::vector<size_t> starts;
};

// Neighbours of the same weight are tokenised as one text.
Words joined(const Words& words) {
    Words all;
    for (const auto& word : words) {
        if (word.first.empty()) {
            continue;
        }
        if (!all.empty() && all.back().second == word.second) {
            all.back().first += word.first;
        } else {
            all.push_back(word);
        }
    }
    if (all.empty()) {
        all.push_back({"", 1.0f});
    }
    return all;
}

} // namespace

std::vector<std::pair<std::string, float>> atelier_weighted_words(const std::string& text) {
    Words words;
    Open round, square;
    for (size_t at = 0; at < text.size();) {
        const char c = text[at];
        const bool escapes = c == '\\' && at + 1 < text.size() && (is_bracket(text[at + 1]) || text[at + 1] == '\\');
        if (escapes) {
            words.push_back({text.substr(at + 1, 1), 1.0f});
            at += 2;
            continue;
        }
        if (c == ':') {
            const auto weight = weight_at(text, at);
            if (weight && round.close(words, weight->value)) {
                at = weight->end;
                continue;
            }
        }
        if ((c == '(' && round.open(words)) || (c == '[' && square.open(words)) || (c == ')' && round.close(words, MORE)) ||
            (c == ']' && square.close(words, LESS))) {
            at++;
            continue;
        }
        if (c == 'B' && is_break(text, at)) {
            words.push_back({"BREAK", -1.0f});
            at += 5;
            continue;
        }
        size_t end = at + 1;
        while (end < text.size() && !is_bracket(text[end]) && text[end] != '\\' && text[end] != ':' && !(text[end] == 'B' && is_break(text, end))) {
            end++;
        }
        words.push_back({text.substr(at, end - at), 1.0f});
        at = end;
    }
    round.close_all(words, MORE);
    square.close_all(words, LESS);
    return joined(words);
}

std::vector<std::pair<std::string, float>> atelier_joined_prompts(const std::string& text) {
    static const std::string WORD = "AND";
    Words prompts;
    size_t start = 0;
    for (size_t at = text.find(WORD); at != std::string::npos && prompts.size() + 1 < MAX_JOINED; at = text.find(WORD, at + 1)) {
        if (is_word(text, at, WORD)) {
            prompts.push_back(prompt_with_weight(text.substr(start, at - start)));
            start = at + WORD.size();
        }
    }
    if (prompts.empty()) {
        return {{text, 1.0f}};
    }
    prompts.push_back(prompt_with_weight(text.substr(start)));
    return prompts;
}

std::vector<std::pair<std::string, float>> atelier_plain_words(const std::string& text) {
    std::string plain;
    for (size_t at = 0; at < text.size(); at++) {
        if (text[at] == '\\' && at + 1 < text.size() && is_bracket(text[at + 1])) {
            at++;
        }
        plain += text[at];
    }
    return {{plain, 1.0f}};
}

std::vector<std::pair<std::string, float>> atelier_emphasised_words(const std::string& text) {
    const size_t first = text.find_first_not_of(" \t\r\n"), last = text.find_last_not_of(" \t\r\n");
    if (first != std::string::npos && text[first] == '{' && text[last] == '}') {
        return atelier_plain_words(text);
    }
    Words words;
    // Indices of the brackets that a weight may close.
    std::vector<size_t> open;
    for (size_t at = 0; at < text.size();) {
        const char c = text[at];
        if (c == '\\' && at + 1 < text.size() && is_bracket(text[at + 1])) {
            words.push_back({text.substr(at + 1, 1), 1.0f});
            at += 2;
            continue;
        }
        const auto weight = c == ':' && !open.empty() ? weight_at(text, at) : std::nullopt;
        if (weight) {
            words[open.back()].first.clear();
            for (size_t i = open.back(); i < words.size(); i++) {
                words[i].second *= weight->value;
            }
            open.pop_back();
            at = weight->end;
            continue;
        }
        if (c == '(' && open.size() < MAX_OPEN) {
            open.push_back(words.size());
        } else if (c == ')' && !open.empty()) {
            open.pop_back();
        }
        size_t end = at + 1;
        while (end < text.size() && !is_bracket(text[end]) && text[end] != '\\' && text[end] != ':') {
            end++;
        }
        // A bracket is a piece of its own: its weight may take it away.
        end = c == '(' ? at + 1 : end;
        words.push_back({text.substr(at, end - at), 1.0f});
        at = end;
    }
    return joined(words);
}

std::string atelier_single_spaces(const std::string& text, bool blanks_only) {
    std::string single;
    bool is_after_space = false;
    for (const char c : text) {
        const bool is_blank = blanks_only ? c == ' ' : is_space(c);
        if (!is_blank) {
            single += c;
        } else if (!is_after_space) {
            single += ' ';
        }
        is_after_space = is_blank;
    }
    return single;
}

std::vector<std::string> atelier_clip_pieces(const std::string& text) {
    const auto lower = [&](size_t at) { return at < text.size() && is_letter(text[at]) ? static_cast<char>(text[at] | 0x20) : '\0'; };
    // Letters of the ending after the apostrophe at this place; 0 where there is none.
    const auto ending = [&](size_t at) -> size_t {
        const char first = lower(at + 1), second = lower(at + 2);
        if (first == 's' || first == 't') {
            return 1;
        }
        if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e')) {
            return 2;
        }
        if (first == 'm') {
            return 1;
        }
        if (first == 'l' && second == 'l') {
            return 2;
        }
        return first == 'd' ? 1 : 0;
    };
    const auto is_rest = [](char c) { return !is_space(c) && !is_letter(c) && !is_digit(c); };
    std::vector<std::string> pieces;
    for (size_t at = 0; at < text.size();) {
        size_t end = at + 1;
        if (is_space(text[at])) {
            at = end;
            continue;
        }
        const size_t letters = text[at] == '\'' ? ending(at) : 0;
        if (letters > 0) {
            end += letters;
        } else if (is_letter(text[at])) {
            while (end < text.size() && is_letter(text[end])) {
                end++;
            }
        } else if (is_rest(text[at])) {
            while (end < text.size() && is_rest(text[end])) {
                end++;
            }
        }
        pieces.push_back(text.substr(at, end - at));
        at = end;
    }
    return pieces;
}
