//! Memory limit of this process: the machine's memory, or less if its control groups limit it.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the memory limit of this process in bytes: the minimum of the machine's memory and the limits of
/// the process's control groups (version 1 and 2) and all their ancestors. `None` if neither is known.
pub fn machine_memory() -> Option<u64> {
    memory_below(Path::new("/"))
}

/// Same as [`machine_memory`], with the system's files below `root`.
fn memory_below(root: &Path) -> Option<u64> {
    let built_in = fs::read_to_string(root.join("proc/meminfo")).ok().as_deref().and_then(total);
    built_in.into_iter().chain(limits(root)).min()
}

/// Reads `MemTotal` of `/proc/meminfo`, in bytes.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// A hierarchy of control groups that may limit memory.
struct Hierarchy {
    /// Mount point, and the group that is mounted there.
    mount: PathBuf,
    root: PathBuf,
    /// Name of the file that contains a group's limit.
    file: &'static str,
}

fn limits(root: &Path) -> Vec<u64> {
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap_or_default();
    let groups = read("proc/self/cgroup");
    let mounts = read("proc/self/mountinfo");
    let mut limits = Vec::new();
    for line in groups.lines() {
        // `hierarchy-ID:controller-list:cgroup-path`, cgroups(7); the list is empty in version 2.
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let is_version_2 = controllers.is_empty();
        if !is_version_2 && !controllers.split(',').any(|it| it == "memory") {
            continue;
        }
        let hierarchy = mounts.lines().find_map(|mount| Hierarchy::of(mount, is_version_2));
        limits.extend(hierarchy.iter().flat_map(|hierarchy| hierarchy.limits(root, Path::new(group))));
    }
    limits
}

impl Hierarchy {
    /// Reads a line of `/proc/self/mountinfo`, proc(5).
    fn of(mount: &str, is_version_2: bool) -> Option<Self> {
        let (before, after) = mount.split_once(" - ")?;
        let mut after = after.split(' ');
        let kind = after.next()?;
        let options = after.nth(1).unwrap_or_default();
        let file = match kind {
            "cgroup2" if is_version_2 => "memory.max",
            "cgroup" if !is_version_2 && options.split(',').any(|it| it == "memory") => {
                "memory.limit_in_bytes"
            }
            _ => return None,
        };
        let mut before = before.split(' ').skip(3);
        Some(Self { root: before.next()?.into(), mount: before.next()?.into(), file })
    }

    /// Returns the limits of a group and of its ancestors, as far as they are mounted.
    fn limits(&self, root: &Path, group: &Path) -> Vec<u64> {
        // In a container the mount may begin at the container's own group.
        let inner = group.strip_prefix(&self.root).or_else(|_| group.strip_prefix("/")).unwrap_or(group);
        let mount = root.join(self.mount.strip_prefix("/").unwrap_or(&self.mount));
        let read = |group: &Path| fs::read_to_string(mount.join(group).join(self.file)).ok();
        // `max` means no limit; version 1 has a huge number instead.
        inner.ancestors().filter_map(read).filter_map(|limit| limit.trim().parse().ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal:       8388608 kB\nMemFree:  1 kB\n");
    const GIB: u64 = 1 << 30;

    fn memory(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().expect("a scratch directory");
        for (file, text) in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().expect("it has one")).expect("it is ours");
            fs::write(path, text).expect("it is ours");
        }
        memory_below(root.path())
    }

    #[test]
    fn without_control_groups_it_is_what_the_machine_has() {
        assert_eq!(memory(&[]), None);
        assert_eq!(memory(&[MEMINFO]), Some(8 * GIB));
        #[cfg(target_os = "linux")]
        assert!(machine_memory().is_some_and(|bytes| bytes > 64 << 20));
    }

    #[test]
    fn the_least_limit_of_a_group_and_those_around_it_counts() {
        let group = ("proc/self/cgroup", "0::/system.slice/kitbag.service\n");
        let mount = (
            "proc/self/mountinfo",
            "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
        );
        let outer = ("sys/fs/cgroup/system.slice/memory.max", "2147483648\n");
        let of = |limit| ("sys/fs/cgroup/system.slice/kitbag.service/memory.max", limit);

        assert_eq!(memory(&[MEMINFO, group, mount]), Some(8 * GIB));
        assert_eq!(memory(&[MEMINFO, group, mount, of("max\n")]), Some(8 * GIB));
        assert_eq!(memory(&[MEMINFO, group, mount, of("1073741824\n")]), Some(GIB));
        assert_eq!(memory(&[MEMINFO, group, mount, outer, of("max\n")]), Some(2 * GIB));
        assert_eq!(memory(&[MEMINFO, group, mount, outer, of("4294967296\n")]), Some(2 * GIB));
    }

    #[test]
    fn a_container_sees_its_own_group_at_the_root_of_the_mount() {
        let limit = ("sys/fs/cgroup/memory.max", "1073741824\n");
        for (group, root) in [("/", "/"), ("/docker/abc", "/docker/abc"), ("/docker/abc", "/")] {
            let group = format!("0::{group}\n");
            let mount = format!("30 23 0:26 {root} /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
            let files = [MEMINFO, ("proc/self/cgroup", &group), ("proc/self/mountinfo", &mount), limit];

            assert_eq!(memory(&files), Some(GIB), "{group} {root}");
        }
    }

    #[test]
    fn limits_of_version_1_count_as_well() {
        let groups = ("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a/b\n0::/\n");
        let mounts = (
            "proc/self/mountinfo",
            "31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
             32 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
        );
        let inner = ("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
        let outer = ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1073741824\n");

        assert_eq!(memory(&[MEMINFO, groups, mounts, inner]), Some(8 * GIB));
        assert_eq!(memory(&[MEMINFO, groups, mounts, inner, outer]), Some(GIB));
    }
}
