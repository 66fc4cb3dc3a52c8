//! What the paths of a process' control groups say of where it runs: slice, unit, container, pod, Slurm job, notebook.
//!
//! The names are those that the programs give their groups: systemd (`*.slice`, `*.service`, `*.scope`), Docker, Podman,
//! containerd, CRI-O and LXC, Kubernetes' kubelet (both of its cgroup drivers), Slurm (both of its cgroup plugins), and
//! JupyterHub's systemd spawner.

use std::borrow::Cow;

use satline_program::parse;

/// Where a process runs, as far as its groups tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// Paths without the slash at the end, the one that says most first; root groups are left out.
    pub paths: Vec<String>,
    /// systemd slices, the deepest first.
    pub slices: Vec<String>,
    /// systemd services and scopes, the outermost first.
    pub units: Vec<String>,
    /// The deepest container: its whole identifier and the program that runs it.
    pub container: Option<(String, &'static str)>,
    /// Unique identifier of the pod, with `-`.
    pub pod: Option<String>,
    /// guaranteed, burstable or besteffort.
    pub quality: Option<&'static str>,
    pub job: Option<Job>,
    /// User of a notebook server.
    pub notebook: Option<String>,
}

/// A job of Slurm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub job: String,
    /// 0, 1, …, batch, extern, interactive.
    pub step: Option<String>,
    /// Version 1 of control groups only.
    pub uid: Option<u32>,
    /// Whether it is Slurm's own daemon in the job.
    pub is_daemon: bool,
}

/// The groups in `/proc/PID/cgroup`, each with a rank: version 2 speaks first (0), then systemd's own
/// hierarchy (1), then any controller's (2).
pub fn ranked_paths(text: &[u8]) -> impl Iterator<Item = (u8, Cow<'_, str>)> {
    parse::lines(text).filter_map(|line| {
        let mut fields = line.splitn(3, |&b| b == b':');
        let (number, names, path) = (fields.next()?, fields.next()?, fields.next()?);
        let rank = match (number, names) {
            (b"0", b"") => 0,
            (_, b"name=systemd") => 1,
            _ => 2,
        };
        Some((rank, String::from_utf8_lossy(path)))
    })
}

impl Placement {
    /// Reads `/proc/PID/cgroup`.
    pub fn read(text: &[u8]) -> Self {
        let mut ranked: Vec<(u8, String)> = Vec::new();
        for (rank, path) in ranked_paths(text) {
            let path = path.trim_end_matches('/');
            if !path.is_empty() && !ranked.iter().any(|(_, known)| known == path) {
                ranked.push((rank, path.to_owned()));
            }
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        let mut placement = Self::default();
        for (_, path) in &ranked {
            placement.look_at(path);
        }
        placement.paths = ranked.into_iter().map(|(_, path)| path).collect();
        placement
    }

    fn look_at(&mut self, path: &str) {
        // Under a driver that does not suit it containerd writes SLICE:cri-containerd:ID.
        let parts: Vec<&str> = path.split(['/', ':']).filter(|part| !part.is_empty()).collect();
        if self.slices.is_empty() {
            let slices = parts.iter().rev().filter(|part| part.ends_with(".slice"));
            self.slices = slices.map(|&part| part.to_owned()).collect();
        }
        if self.units.is_empty() {
            let is_unit = |part: &&&str| part.ends_with(".service") || part.ends_with(".scope");
            self.units = parts
                .iter()
                .filter(is_unit)
                .map(|&part| part.to_owned())
                .collect();
        }
        if self.pod.is_none() {
            if let Some(pod) = parts.iter().rev().find_map(|part| pod(part)) {
                self.pod = Some(pod);
                self.quality = Some(match path {
                    _ if path.contains("besteffort") => "besteffort",
                    _ if path.contains("burstable") => "burstable",
                    _ => "guaranteed",
                });
            }
        }
        if self.container.is_none() {
            let found = (0..parts.len())
                .rev()
                .find_map(|at| container(parts[at], at.checked_sub(1).map(|above| parts[above])));
            self.container = found;
        }
        if self.job.is_none() {
            self.job = job(&parts);
        }
        if self.notebook.is_none() {
            self.notebook = parts.iter().find_map(|part| notebook(part));
        }
    }
}

/// `kubepods-burstable-podUID.slice` with `_` for `-`, or `podUID` below `kubepods`.
fn pod(part: &str) -> Option<String> {
    let name = part.strip_suffix(".slice").unwrap_or(part);
    let id = match name.strip_prefix("kubepods") {
        Some(rest) => rest.split_once("-pod")?.1,
        None => name.strip_prefix("pod")?,
    };
    let id = id.replace('_', "-");
    // 32 hexadecimal digits; those of a static pod have no dashes.
    let digits = id.bytes().filter(u8::is_ascii_hexdigit).count();
    (digits == 32 && id.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())).then_some(id)
}

fn container(part: &str, above: Option<&str>) -> Option<(String, &'static str)> {
    if let Some(name) = part.strip_prefix("lxc.payload.").or(match above {
        Some("lxc" | "lxc.payload") => Some(part),
        _ => None,
    }) {
        return Some((name.to_owned(), "lxc"));
    }
    let name = part.strip_suffix(".scope").unwrap_or(part);
    let (prefix, id) = name.rsplit_once('-').unwrap_or(("", name));
    if id.len() != 64 || !id.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let runtime = match prefix {
        "docker" => "docker",
        "libpod" => "podman",
        "crio" => "cri-o",
        "cri-containerd" | "nerdctl" | "containerd" => "containerd",
        "" => match above {
            Some("docker") => "docker",
            Some("libpod_parent") => "podman",
            _ => "containerd",
        },
        // libpod-conmon-…, crio-conmon-…: the runtime's watchman, which is not in the container.
        _ => return None,
    };
    Some((id.to_owned(), runtime))
}

/// `slurm[_NODE]/uid_U/job_J[/step_S]`, or `[NODE_]slurmstepd.scope/job_J[/step_S/user|slurm]`.
fn job(parts: &[&str]) -> Option<Job> {
    let number = |part: &str, prefix: &str| {
        let number = part.strip_prefix(prefix)?;
        (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then(|| number.to_owned())
    };
    let at = parts.iter().position(|part| number(part, "job_").is_some())?;
    let above = &parts[..at];
    let is_slurm = |part: &&str| {
        let stepd = part.ends_with("slurmstepd.scope");
        stepd || *part == "slurm" || part.starts_with("slurm_") || part.starts_with("slurm-")
    };
    if !above.iter().any(is_slurm) {
        return None;
    }
    let below = &parts[at + 1..];
    Some(Job {
        job: number(parts[at], "job_")?,
        step: below
            .first()
            .and_then(|part| part.strip_prefix("step_"))
            .map(str::to_owned),
        uid: above.last().and_then(|part| number(part, "uid_")?.parse().ok()),
        is_daemon: below.get(1) == Some(&"slurm"),
    })
}

/// `jupyter-NAME.service`, also `jupyter-NAME-singleuser.service`, and groups of that name.
fn notebook(part: &str) -> Option<String> {
    let name = part
        .strip_prefix("jupyter-")
        .filter(|name| !name.ends_with(".slice"))?;
    let name = name.strip_suffix(".service").unwrap_or(name);
    let name = name.strip_suffix(".scope").unwrap_or(name);
    let name = name.strip_suffix("-singleuser").unwrap_or(name);
    (!name.is_empty()).then(|| unescape(name))
}

/// systemd writes signs that a unit's name may not have as `\x2d`.
pub fn unescape(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [first, others @ ..] = rest {
        let code = rest
            .strip_prefix(b"\\x")
            .and_then(|code| u8::from_str_radix(std::str::from_utf8(code.get(..2)?).ok()?, 16).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                rest = &rest[4..];
            }
            None => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
#[path = "placement_tests.rs"]
mod tests;
