//! Landlock and seccomp.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, RestrictionStatus, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError,
    RulesetStatus, Scope, path_beneath_rules,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, apply_filter_all_threads,
};

/// The newest that is asked for; older kernels enforce what they know of it.
const LANDLOCK: ABI = ABI::V6;
/// System calls with this bit are those of x32, which some kernels of x86-64 have, under numbers of
/// their own.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// What is read while lending: free memory, and the limits of a container.
const OF_THE_LENDER: &[&str] = &["/proc/meminfo", "/proc/stat", "/proc/cpuinfo", "/proc/self", "/sys/fs/cgroup", "/sys/devices/system"];
/// Where drivers lie and look. Not `/run`, `/var` and `/home`, but for the drivers of `NixOS`.
const OF_DRIVERS: &[&str] = &[
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/bin",
    "/etc",
    "/opt",
    "/nix/store",
    "/run/opengl-driver",
    "/run/opengl-driver-32",
    "/proc",
    "/sys",
];
/// Where drivers write. `/dev` has the devices themselves, and shared memory.
const WRITTEN_BY_DRIVERS: &[&str] = &["/dev", "/tmp"];
/// In a home folder: layers of Vulkan that are read, and caches of shaders.
const OF_DRIVERS_AT_HOME: &[&str] = &[".local/share/vulkan", ".config/vulkan"];
const CACHES_AT_HOME: &[&str] = &[".nv", ".cache/mesa_shader_cache", ".cache/mesa_shader_cache_db", ".cache/nvidia", ".cache/NVIDIA"];

pub(super) fn begin(cache: Option<&Path>) -> Result<(), String> {
    let home = env::var_os("HOME").map(PathBuf::from);
    let at_home =
        |names: &[&str]| -> Vec<OsString> { home.iter().flat_map(|home| names.iter().map(|name| home.join(name).into())).collect() };
    let mut read: Vec<OsString> = OF_THE_LENDER.iter().chain(OF_DRIVERS).map(OsString::from).collect();
    read.extend(at_home(OF_DRIVERS_AT_HOME));
    let mut written: Vec<OsString> = WRITTEN_BY_DRIVERS.iter().map(OsString::from).collect();
    written.extend(at_home(CACHES_AT_HOME));
    written.extend(cache.map(OsString::from));
    // Connections only in the last step: until then an address is to be listened at.
    confine_files(&read, &written, BitFlags::EMPTY)
}

pub(super) fn finish(cache: Option<&Path>, has_drivers: bool) -> Result<(), String> {
    let everywhere = [OsString::from("/")];
    let own: Vec<OsString> = OF_THE_LENDER.iter().map(OsString::from).collect();
    let written: Vec<OsString> = cache.map(OsString::from).into_iter().collect();
    // What drivers may read and write was said in the first step.
    let (read, written) = if has_drivers { (&everywhere[..], &everywhere[..]) } else { (&own[..], &written[..]) };
    let files = confine_files(read, written, AccessNet::from_all(LANDLOCK));
    // Also where the other wall is not there: it is better than none.
    let calls = confine_calls(has_drivers).map_err(|error| format!("system calls cannot be filtered: {error}"));
    files.and(calls)
}

/// From now on this thread and those that it starts read and write files only there, and open no
/// connections where those are named.
fn confine_files(read: &[OsString], written: &[OsString], connections: BitFlags<AccessNet>) -> Result<(), String> {
    let restrict = || -> Result<RestrictionStatus, RulesetError> {
        let ruleset = Ruleset::default().handle_access(AccessFs::from_all(LANDLOCK))?;
        let ruleset =
            if connections.is_empty() { ruleset } else { ruleset.handle_access(connections)?.scope(Scope::from_all(LANDLOCK))? };
        // A folder that is not there is left out.
        ruleset
            .create()?
            .add_rules(path_beneath_rules(read, AccessFs::ReadFile | AccessFs::ReadDir))?
            .add_rules(path_beneath_rules(written, AccessFs::from_all(LANDLOCK) & !AccessFs::Execute))?
            .restrict_self()
    };
    match restrict() {
        Ok(status) if status.ruleset == RulesetStatus::NotEnforced => Err("this kernel has no Landlock, or it is switched off".into()),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("Landlock cannot be used: {error}")),
    }
}

/// Calls that no lender needs once it listens.
const FORBIDDEN: &[i64] = &[
    // Programs, and other processes.
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    // Connections; those that are accepted are there already.
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    // Calls by a way that is not filtered.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // What belongs to files and is not Landlock's.
    libc::SYS_truncate,
    libc::SYS_fchmodat,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_utimensat,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    // The system, its keys and its name spaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_personality,
];

/// The same under the numbers that only x86-64 has.
#[cfg(target_arch = "x86_64")]
const FORBIDDEN_HERE: &[i64] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const FORBIDDEN_HERE: &[i64] = &[];

/// Puts characters into the terminal's input, as if a person had typed them.
const TERMINAL_INPUT: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// From now on these calls fail, on every thread.
fn confine_calls(has_drivers: bool) -> Result<(), Box<dyn std::error::Error>> {
    let condition = |argument, operator, value| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value);
    let rule = |condition: SeccompCondition| SeccompRule::new(vec![condition]);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = FORBIDDEN.iter().chain(FORBIDDEN_HERE).map(|call| (*call, Vec::new())).collect();
    // A process of its own, where a thread is allowed.
    let thread = u64::try_from(libc::CLONE_THREAD)?;
    rules.insert(libc::SYS_clone, vec![rule(condition(0, SeccompCmpOp::MaskedEq(thread), 0)?)?]);
    // Signals to others; an abort is one to itself.
    rules.insert(libc::SYS_tgkill, vec![rule(condition(0, SeccompCmpOp::Ne, u64::from(std::process::id()))?)?]);
    rules.insert(libc::SYS_prlimit64, vec![rule(condition(0, SeccompCmpOp::Ne, 0)?)?]);
    rules.insert(
        libc::SYS_ioctl,
        TERMINAL_INPUT.iter().map(|request| rule(condition(1, SeccompCmpOp::Eq, *request)?)).collect::<Result<_, _>>()?,
    );
    // To an address without a connection.
    let somewhere = SeccompCondition::new(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    rules.insert(libc::SYS_sendto, vec![rule(somewhere)?]);
    // Drivers ask for local sockets when they start, and go on where nothing answers there.
    let local = u64::try_from(libc::AF_UNIX)?;
    rules.insert(libc::SYS_socket, if has_drivers { vec![rule(condition(0, SeccompCmpOp::Ne, local)?)?] } else { Vec::new() });
    apply(rules, libc::EPERM)?;
    // Its flags lie in memory, where no filter reads them. The C library takes the older call where
    // this one is not there.
    apply(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)
}

fn apply(rules: BTreeMap<i64, Vec<SeccompRule>>, error: i32) -> Result<(), Box<dyn std::error::Error>> {
    #[cfg(target_arch = "x86_64")]
    let rules = rules.into_iter().flat_map(|(call, rules)| [(call, rules.clone()), (call | X32, rules)]).collect();
    let refused = SeccompAction::Errno(u32::try_from(error)?);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, env::consts::ARCH.try_into()?)?;
    let program: BpfProgram = filter.try_into()?;
    Ok(apply_filter_all_threads(&program)?)
}
