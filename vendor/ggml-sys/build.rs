//! Compiles the shim against the engine that `diffusion-rs-sys` brings.
//!
//! The shim reaches into the engine in three ways, each of which depends on the engine's own text. So nothing is assumed: a text that is
//! not found exactly once stops the build with a sentence that names it.
//! 1. The data members of the engine's context are cut out of its source into a header, so that the shim knows their layout.
//! 2. Some sources are compiled into the shim with a few lines changed. Linked whole, they take the place of the archive's objects.
//! 3. The structs that cross the border are measured by the C++ compiler; `tests/layout.rs` compares with what Rust thinks.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The engine whose internals the shim knows.
const ENGINE: &str = "diffusion-rs-sys 0.1.20";

/// Structs that Rust fills and C++ reads, with the fields that are named on the Rust side.
const LAYOUT: &[(&str, &[&str])] = &[
    (
        "sd_ctx_params_t",
        &[
            "model_path",
            "clip_l_path",
            "clip_g_path",
            "clip_vision_path",
            "t5xxl_path",
            "llm_path",
            "llm_vision_path",
            "diffusion_model_path",
            "vae_path",
            "taesd_path",
            "control_net_path",
            "photo_maker_path",
            "n_threads",
            "wtype",
            "lora_apply_mode",
            "enable_mmap",
            "flash_attn",
            "diffusion_flash_attn",
            "tae_preview_only",
            "vae_format",
            "max_vram",
            "stream_layers",
            "backend",
            "params_backend",
        ],
    ),
    (
        "sd_img_gen_params_t",
        &[
            "loras",
            "lora_count",
            "prompt",
            "negative_prompt",
            "clip_skip",
            "init_image",
            "ref_images",
            "ref_images_count",
            "auto_resize_ref_image",
            "mask_image",
            "width",
            "height",
            "sample_params",
            "strength",
            "seed",
            "batch_count",
            "control_image",
            "control_strength",
            "pm_params",
            "vae_tiling_params",
            "cache",
            "hires",
        ],
    ),
    (
        "sd_sample_params_t",
        &[
            "guidance",
            "scheduler",
            "sample_method",
            "sample_steps",
            "eta",
            "shifted_timestep",
            "custom_sigmas",
            "flow_shift",
            "extra_sample_args",
        ],
    ),
    ("sd_guidance_params_t", &["txt_cfg", "img_cfg", "distilled_guidance", "slg"]),
    ("sd_slg_params_t", &["layers", "layer_count", "layer_start", "layer_end", "scale"]),
    ("sd_tiling_params_t", &["enabled", "temporal_tiling", "tile_size_x", "target_overlap", "rel_size_x", "extra_tiling_args"]),
    ("sd_image_t", &["width", "height", "channel", "data"]),
    ("sd_lora_t", &["is_high_noise", "multiplier", "path"]),
    ("sd_cache_params_t", &["mode", "spectrum_stop_percent"]),
    ("sd_hires_params_t", &["enabled", "custom_sigmas_count"]),
    ("sd_pm_params_t", &["id_images", "style_strength"]),
    ("atelier_callbacks", &["user", "log", "phase", "load", "step", "preview", "cancelled"]),
    ("atelier_device", &["name", "description", "type", "memory_free", "memory_total", "remote", "card"]),
    ("atelier_holding", &["module", "device", "bytes"]),
    ("atelier_encoding_counts", &["found", "made", "bytes"]),
    ("atelier_shortage", &["device", "phase", "bytes_wanted", "bytes_free"]),
    ("atelier_limits", &["diffusion", "te", "clip_vision", "vae", "stream_layers"]),
];

/// A change to a vendored source: the text that must stand there exactly once, and what takes its place.
struct Change {
    find: &'static str,
    put: &'static str,
}

/// Cutting a graph into segments marks the segment's outputs, but where an output is a view its storage could be used again before the
/// next segment reads it: the picture then comes out wrong.
const GRAPH_CUT: &[Change] = &[Change {
    find: "            ggml_set_output(output);\n",
    put: "            ggml_set_output(output);\n            if (output->view_src != nullptr) {\n                ggml_set_output(output->view_src);\n            }\n",
}];

/// The loader learns to say which bytes of which module it reads, to stop when asked, to let its threads' log lines find their job, to
/// write nothing on standard output, not to sleep 0.2 s after each module, and to read nothing into what is no memory.
const LOADER: &[Change] = &[
    Change { find: "#include \"name_conversion.h\"\n", put: "#include \"name_conversion.h\"\n\n#include \"job.h\"\n" },
    Change {
        find: "    bool success                   = true;\n    size_t total_tensors_processed = 0;\n",
        put: "    bool success                   = true;\n    size_t total_tensors_processed = 0;\n\
              \x20   void* atelier_job                = atelier_job_current();\n\
              \x20   uint64_t atelier_bytes           = 0;\n\
              \x20   const char* atelier_first_tensor = nullptr;\n\
              \x20   for (const auto& fdata : file_data) {\n\
              \x20       for (const TensorStorage& tensor_storage : fdata.tensors) {\n\
              \x20           if (target_tensor_names == nullptr || target_tensor_names->count(tensor_storage.name) != 0) {\n\
              \x20               atelier_bytes += static_cast<uint64_t>(tensor_storage.nbytes_to_read());\n\
              \x20               atelier_first_tensor = tensor_storage.name.c_str();\n\
              \x20           }\n\
              \x20       }\n\
              \x20   }\n\
              \x20   atelier_job_load_begin(atelier_job, atelier_first_tensor, atelier_bytes);\n",
    },
    Change {
        find: "            workers.emplace_back([&, file_path, is_zip]() {\n",
        put: "            workers.emplace_back([&, file_path, is_zip]() {\n                atelier_job_adopt(atelier_job);\n",
    },
    Change {
        find: "                    size_t idx = tensor_idx.fetch_add(1);\n",
        put: "                    if (atelier_job_cancelled(atelier_job)) {\n                        failed = true;\n                    }\n                    size_t idx = tensor_idx.fetch_add(1);\n",
    },
    Change {
        find: "                    // skip mmapped tensors\n",
        put: "                    if (atelier_buffer_is_phantom(dst_tensor->buffer)) {\n                        continue;\n                    }\n\n                    // skip mmapped tensors\n",
    },
    Change {
        find: "            std::this_thread::sleep_for(std::chrono::milliseconds(total_tensors_to_process <= 4 ? 10 : 200));\n",
        put: "            atelier_job_load_progress(atelier_job, bytes_processed.load());\n            std::this_thread::sleep_for(std::chrono::milliseconds(1));\n",
    },
    Change { find: "            printf(\"\\n\");\n", put: "" },
    Change {
        find: "    int64_t end_time = ggml_time_ms();\n    LOG_INFO(\"loading tensors completed",
        put: "    atelier_job_load_progress(atelier_job, bytes_processed.load());\n    atelier_job_load_end(atelier_job);\n    int64_t end_time = ggml_time_ms();\n    LOG_INFO(\"loading tensors completed",
    },
];

/// Each thread, and so each job, has a preview callback of its own, and a buffer for its log lines.
const UTIL: &[Change] = &[
    Change {
        find: "static sd_preview_cb_t sd_preview_cb = nullptr;\n",
        put: "static thread_local sd_preview_cb_t sd_preview_cb = nullptr;\n",
    },
    Change { find: "static void* sd_preview_cb_data      = nullptr;\n", put: "static thread_local void* sd_preview_cb_data = nullptr;\n" },
    Change {
        find: "preview_t sd_preview_mode            = PREVIEW_NONE;\n",
        put: "static thread_local preview_t sd_preview_mode = PREVIEW_NONE;\n",
    },
    Change { find: "int sd_preview_interval              = 1;\n", put: "static thread_local int sd_preview_interval = 1;\n" },
    Change { find: "bool sd_preview_denoised             = true;\n", put: "static thread_local bool sd_preview_denoised = true;\n" },
    Change { find: "bool sd_preview_noisy                = false;\n", put: "static thread_local bool sd_preview_noisy = false;\n" },
    Change {
        find: "    static char log_buffer[LOG_BUFFER_SIZE + 1];\n",
        put: "    static thread_local char log_buffer[LOG_BUFFER_SIZE + 1];\n",
    },
];

/// Every buffer of every device is made and freed here.
const BACKEND: &[Change] = &[
    Change { find: "#include \"ggml-impl.h\"\n", put: "#include \"ggml-impl.h\"\n\n#include \"job.h\"\n" },
    Change {
        find: "    return buft->iface.alloc_buffer(buft, size);\n",
        put: "    ggml_backend_buffer_t atelier_buffer = buft->iface.alloc_buffer(buft, size);\n\
              \x20   atelier_buffer_made(buft, size, atelier_buffer);\n\
              \x20   return atelier_buffer;\n",
    },
    Change {
        find: "    if (buffer->iface.free_buffer != NULL) {\n",
        put: "    atelier_buffer_freed(buffer);\n    if (buffer->iface.free_buffer != NULL) {\n",
    },
];

/// The manager of weights says whose weights it is about to prepare.
const MANAGER: &[Change] = &[
    Change { find: "#include \"core/util.h\"\n", put: "#include \"core/util.h\"\n#include \"job.h\"\n" },
    Change {
        find: "    if (!load_tensors_to_params_backend(required_states)) {\n",
        put: "    atelier_job_prepares(required_states.front()->name.c_str());\n    if (!load_tensors_to_params_backend(required_states)) {\n",
    },
];

/// Sockets learn to be shared between threads, to be broken for good, and to be opened by Rust; `shim/transport.cpp` takes the place of
/// the source that belongs to this header.
const TRANSPORT: &[Change] = &[
    Change { find: "#include <memory>\n", put: "#include <memory>\n#include <mutex>\n#include <string>\n" },
    Change {
        find: "    socket_ptr accept();\n",
        put: "    socket_ptr accept();\n\n\
              \x20   bool broken() const;\n\
              \x20   void break_off();\n\
              \x20   std::recursive_timed_mutex & mutex();\n\
              \x20   void remember_memory(uint32_t device, size_t free, size_t total);\n\
              \x20   void remembered_memory(uint32_t device, size_t * free, size_t * total);\n\
              \x20   static socket_ptr adopt(int64_t socket, const std::string & endpoint);\n",
    },
];

/// A remote device learns to fail without ending the process, to be asked by several threads, to be waited for after each part of a
/// graph, and to come back; the lender's cache keeps only what is whole.
const RPC: &[Change] = &[
    Change {
        find: "#define RPC_STATUS_ASSERT(x) if (!(x)) GGML_ABORT(\"Remote RPC server crashed or returned malformed response\")\n",
        put: "#include \"remote.h\"\n#define RPC_STATUS_ASSERT(x) if (!(x)) atelier::rpc_lost()\n",
    },
    // An IPv6 address has colons of its own.
    Change { find: "    size_t pos = endpoint.find(':');\n", put: "    size_t pos = endpoint.rfind(':');\n" },
    // Nobody can make this side reserve all its memory by a number alone.
    Change {
        find: "    try {\n        input.resize(size);\n",
        put: "    if (size > (uint64_t(1) << 36)) {\n        return false;\n    }\n    try {\n        input.resize(size);\n",
    },
    Change {
        find: "    uint8_t cmd_byte = cmd;\n",
        put: "    if (sock == nullptr) {\n        return false;\n    }\n    std::lock_guard<std::recursive_timed_mutex> lock(sock->mutex());\n    uint8_t cmd_byte = cmd;\n",
    },
    // Request and answer belong together.
    Change {
        find: "    if (!send_rpc_cmd(sock, cmd, input, input_size)) {\n",
        put: "    if (sock == nullptr) {\n        return false;\n    }\n    std::lock_guard<std::recursive_timed_mutex> lock(sock->mutex());\n    if (!send_rpc_cmd(sock, cmd, input, input_size)) {\n",
    },
    // After an answer of another length nothing on this socket can be trusted.
    Change { find: "    if (out_size != output_size) {\n", put: "    if (out_size != output_size) {\n        sock->break_off();\n" },
    Change {
        find: "        if (auto sock = it->second.lock()) {\n",
        put: "        if (auto sock = it->second.lock(); sock != nullptr && !sock->broken()) {\n",
    },
    // What a server held is gone with it.
    Change {
        find: "    bool status = send_rpc_cmd(ctx->sock, RPC_CMD_FREE_BUFFER, &request, sizeof(request), nullptr, 0);\n    RPC_STATUS_ASSERT(status);\n",
        put: "    send_rpc_cmd(ctx->sock, RPC_CMD_FREE_BUFFER, &request, sizeof(request), nullptr, 0);\n",
    },
    // A graph is sent and not waited for; an answer to anything else comes after it.
    Change {
        find: "static void ggml_backend_rpc_synchronize(ggml_backend_t backend) {\n    GGML_UNUSED(backend);\n    // this is no-op because we don't have any async operations\n}\n",
        put: "static void get_device_memory(const std::shared_ptr<socket_t> & sock, uint32_t device, size_t * free, size_t * total);\n\
              static void ggml_backend_rpc_synchronize(ggml_backend_t backend) {\n\
              \x20   ggml_backend_rpc_context * ctx = (ggml_backend_rpc_context *)backend->context;\n\
              \x20   size_t free;\n\
              \x20   size_t total;\n\
              \x20   get_device_memory(get_socket(ctx->endpoint), ctx->device, &free, &total);\n\
              }\n",
    },
    Change {
        find: "    *free = response.free_mem;\n    *total = response.total_mem;\n",
        put: "    *free = response.free_mem;\n    *total = response.total_mem;\n    sock->remember_memory(device, *free, *total);\n",
    },
    // While the device computes, what was last heard of its memory is answer enough.
    Change {
        find: "    auto sock = get_socket(endpoint);\n    if (sock == nullptr) {\n        *free = 0;\n",
        put: "    auto sock = atelier::rpc_worth_asking(endpoint) ? get_socket(endpoint) : nullptr;\n\
              \x20   std::unique_lock<std::recursive_timed_mutex> lock;\n\
              \x20   if (sock != nullptr) {\n\
              \x20       lock = std::unique_lock<std::recursive_timed_mutex>(sock->mutex(), std::chrono::milliseconds(100));\n\
              \x20       if (!lock.owns_lock()) {\n\
              \x20           sock->remembered_memory(device, free, total);\n\
              \x20           return;\n\
              \x20       }\n\
              \x20   }\n\
              \x20   if (sock == nullptr) {\n        *free = 0;\n",
    },
    Change {
        find: "        std::ofstream ofs(cache_file, std::ios::binary);\n        ofs.write((const char *)data, size);\n        GGML_LOG_INFO(\"[%s] saved to '%s'\\n\", __func__, cache_file.string().c_str());\n",
        put: "        atelier::rpc_cache_store(cache_file, (const uint8_t *)data, size);\n",
    },
    Change {
        find: "    ifs.read((char *)data.data(), size);\n    return true;\n",
        put: "    ifs.read((char *)data.data(), size);\n    return ifs.good() && fnv_hash(data.data(), size) == hash;\n",
    },
    Change {
        find: "        std::string dev_desc = std::string(endpoint);\n",
        put: "        std::string dev_desc = std::string(endpoint) + \"#\" + std::to_string(ind);\n",
    },
    Change {
        find: "GGML_BACKEND_DL_IMPL(ggml_backend_rpc_reg)\n",
        put: "void atelier_rpc_serve_client(const std::vector<ggml_backend_t> & backends, const char * cache_dir, socket_ptr sock) {\n\
              \x20   rpc_serve_client(backends, cache_dir, sock);\n\
              }\n",
    },
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=shim");

    let engine = PathBuf::from(variable("DEP_STABLE_DIFFUSION_ROOT")).join("stable-diffusion.cpp");
    let out = PathBuf::from(variable("OUT_DIR"));

    write(&out.join("engine_layout.h"), &engine_layout(&engine));
    let graph_cut = patched(&engine, "src/core/ggml_graph_cut.cpp", GRAPH_CUT, &out);
    let loader = patched(&engine, "src/model_loader.cpp", LOADER, &out);
    let util = patched(&engine, "src/core/util.cpp", UTIL, &out);
    let manager = patched(&engine, "src/model_manager.cpp", MANAGER, &out);
    let backend = patched(&engine, "ggml/src/ggml-backend.cpp", BACKEND, &out);
    let rpc = patched(&engine, "ggml/src/ggml-rpc/ggml-rpc.cpp", RPC, &out);
    patched(&engine, "ggml/src/ggml-rpc/transport.h", TRANSPORT, &out);
    let (layout_cpp, layout_rs) = layout();
    write(&out.join("layout.cpp"), &layout_cpp);
    write(&out.join("layout.rs"), &layout_rs);

    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        // The interface stays quick in a debug build too, and the engine's headers are slow without it.
        .opt_level(2)
        .debug(false)
        .warnings(false)
        .define("GGML_MAX_NAME", "128")
        .define("GGML_USE_CPU", None)
        .define("NDEBUG", None)
        .include("shim")
        .include(&out);
    for folder in ["", "src", "include", "src/core", "thirdparty", "ggml/include", "ggml/src", "ggml/src/ggml-rpc"] {
        build.include(engine.join(folder));
    }
    for source in ["shim", "context", "residency", "estimate", "job", "hook", "accounts", "phantom", "simulate", "transport", "remote"] {
        build.file(format!("shim/{source}.cpp"));
    }
    if env::var_os("CARGO_FEATURE_VULKAN").is_some() {
        build.file("shim/vulkan.cpp");
        stand_in_for_vulkan(&out);
    }
    build.file(graph_cut).file(loader).file(util).file(manager).file(backend).file(rpc).file(out.join("layout.cpp"));
    // Whole, or the linker keeps the archive's own objects instead of the changed ones.
    build.cargo_metadata(false).compile("atelier_shim");
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static:+whole-archive=atelier_shim");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("windows") {
        println!("cargo:rustc-link-lib=ws2_32");
    }
}

/// Puts an empty library where the linker looks for Vulkan's loader, before any other folder: `shim/vulkan.cpp` has what is wanted of it, and
/// a program that is linked to the loader would not start without it.
fn stand_in_for_vulkan(out: &Path) {
    let folder = out.join("stand-in");
    fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{} cannot be made: {error}", folder.display()));
    let source = folder.join("empty.c");
    write(&source, "int atelier_stands_in_for_vulkan;\n");
    let is_msvc = env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("msvc");
    let name = if is_msvc { "vulkan-1" } else { "vulkan" };
    cc::Build::new().cargo_metadata(false).out_dir(&folder).file(source).compile(name);
    println!("cargo:rustc-link-search=native={}", folder.display());
}

/// The engine's context as a header: its data members without its functions.
fn engine_layout(engine: &Path) -> String {
    let path = "src/stable-diffusion.cpp";
    let text = read(&engine.join(path));
    let begin = "class StableDiffusionGGML {\npublic:\n";
    let end = "    StableDiffusionGGML() = default;\n";
    let members = between(&text, begin, end).unwrap_or_else(|| {
        panic!("{ENGINE} has moved: {path} no longer holds the data members between {begin:?} and {end:?}; see vendor/ggml-sys/build.rs")
    });
    assert!(
        !members.contains(") {"),
        "{ENGINE} has moved: a function now stands among the data members in {path}; see vendor/ggml-sys/build.rs"
    );
    let handle = "struct sd_ctx_t {\n    StableDiffusionGGML* sd = nullptr;\n};\n";
    assert!(text.contains(handle), "{ENGINE} has moved: {path} no longer defines sd_ctx_t as one pointer; see vendor/ggml-sys/build.rs");
    format!(
        "// Made by build.rs from {path} of {ENGINE}.\n#pragma once\n\
         #include <memory>\n#include <string>\n#include <vector>\n\
         #include \"conditioning/conditioner.hpp\"\n#include \"model/diffusion/model.hpp\"\n#include \"model/vae/vae.hpp\"\n\
         #include \"model_manager.h\"\n#include \"core/rng_philox.hpp\"\n#include \"runtime/denoiser.hpp\"\n\
         struct ControlNet;\nstruct GenerationExtension;\nstruct LoraModel;\nnamespace LTXV {{ struct LTXAudioVAERunner; }}\n\
         class StableDiffusionGGML {{\npublic:\n{members}}};\n{handle}"
    )
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(begin)?;
    rest.split_once(end).map(|(middle, _)| middle)
}

/// Writes a changed copy of an engine source and returns its path.
fn patched(engine: &Path, source: &str, changes: &[Change], out: &Path) -> PathBuf {
    let mut text = read(&engine.join(source));
    for change in changes {
        let found = text.matches(change.find).count();
        assert!(
            found == 1,
            "{ENGINE} has moved: {source} should hold this text once, but holds it {found} times:\n{}\nSee vendor/ggml-sys/build.rs for why it matters.",
            change.find
        );
        text = text.replacen(change.find, change.put, 1);
    }
    let name = Path::new(source).file_name().map_or_else(|| panic!("{source} names no file"), |name| out.join(name));
    write(&name, &text);
    name
}

/// The same list of sizes and offsets, for the C++ compiler and for Rust.
fn layout() -> (String, String) {
    let mut cpp = String::from("#include <cstddef>\n#include \"shim.h\"\n\nextern \"C\" const size_t atelier_layout[] = {\n");
    let mut rust =
        String::from("/// Name and value, as Rust sees it, of every entry of `atelier_layout`.\npub const LAYOUT: &[(&str, usize)] = &[\n");
    for (name, fields) in LAYOUT {
        cpp += &format!("    sizeof({name}),\n");
        rust += &format!("    (\"size of {name}\", ::std::mem::size_of::<{name}>()),\n");
        for field in *fields {
            cpp += &format!("    offsetof({name}, {field}),\n");
            let rust_field = if *field == "type" { "type_" } else { field };
            rust += &format!("    (\"{name}.{field}\", ::std::mem::offset_of!({name}, {rust_field})),\n");
        }
    }
    cpp += "};\n";
    rust += "];\n";
    rust += &format!("/// The engine that this crate was written for.\npub const ENGINE: &str = {ENGINE:?};\n");
    (cpp, rust)
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set; {ENGINE} should have set it by its `links` key"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("{ENGINE} has moved: {} cannot be read: {error}", path.display()))
        .replace("\r\n", "\n")
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|error| panic!("{} cannot be written: {error}", path.display()));
}
