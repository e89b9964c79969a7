// Devices of other machines: what ggml's RPC, as changed by build.rs, asks of us.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace atelier {

// The connection to a server broke while it was needed.
struct Lost {
    std::string server;
};

// Throws `Lost` where this thread can, and marks its job in any case.
void rpc_lost();

// False for a short while after a server could not be reached: what is only asked out of curiosity need not wait for it again.
bool rpc_worth_asking(const std::string& endpoint);

// Keeps weights under a name, whole or not at all.
void rpc_cache_store(const std::filesystem::path& path, const uint8_t* data, size_t size);

}  // namespace atelier
