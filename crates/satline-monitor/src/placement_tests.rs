use super::*;
use proptest::prelude::*;

const ID: &str = "3f4a1b2c3f4a1b2c3f4a1b2c3f4a1b2c3f4a1b2c3f4a1b2c3f4a1b2c3f4a1b2c";
const POD: &str = "0a1b2c3d-0a1b-2c3d-4e5f-0a1b2c3d4e5f";

fn of(text: &str) -> Placement {
    Placement::read(text.replace("ID", ID).as_bytes())
}

#[test]
fn containers_of_every_runtime() {
    for (text, runtime) in [
        ("0::/system.slice/docker-ID.scope\n", Some("docker")),
        ("0::/system.slice/docker-ID.scope/init\n", Some("docker")),
        ("4:memory:/docker/ID\n0::/\n", Some("docker")),
        ("0::/machine.slice/libpod-ID.scope/container\n", Some("podman")),
        (
            "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope\n",
            Some("podman"),
        ),
        ("0::/system.slice/cri-containerd-ID.scope\n", Some("containerd")),
        ("0::/default/ID\n", Some("containerd")),
        (
            "0::/system.slice/containerd.service/kubepods-besteffort.slice:cri-containerd:ID\n",
            Some("containerd"),
        ),
        (
            "0::/kubepods.slice/kubepods-besteffort.slice/crio-ID.scope\n",
            Some("cri-o"),
        ),
        ("0::/machine.slice/libpod-conmon-ID.scope\n", None),
        ("0::/system.slice/docker.service\n", None),
        ("0::/system.slice/docker-3f4a.scope\n", None),
    ] {
        let container = of(text).container;
        assert_eq!(container.as_ref().map(|(_, runtime)| *runtime), runtime, "{text}");
        assert!(container.is_none_or(|(id, _)| id == ID), "{text}");
    }
    assert_eq!(
        of("0::/lxc.payload.web/x\n").container,
        Some(("web".into(), "lxc"))
    );
    assert_eq!(of("0::/lxc/web\n").container, Some(("web".into(), "lxc")));
}

#[test]
fn pods_of_both_drivers() {
    let underlined = POD.replace('-', "_");
    for (text, quality) in [
        (
            format!(
                "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{underlined}.slice/cri-containerd-ID.scope"
            ),
            "burstable",
        ),
        (
            format!("0::/kubepods.slice/kubepods-pod{underlined}.slice/crio-ID.scope"),
            "guaranteed",
        ),
        (
            format!("3:cpu:/kubepods/besteffort/pod{POD}/ID\n0::/"),
            "besteffort",
        ),
    ] {
        let placement = of(&text);
        assert_eq!(placement.pod.as_deref(), Some(POD), "{text}");
        assert_eq!(placement.quality, Some(quality), "{text}");
        assert!(placement.container.is_some(), "{text}");
    }
    assert_eq!(of("0::/system.slice/podman.service\n").pod, None);
}

#[test]
fn jobs_of_slurm_in_both_versions() {
    let job = |uid, is_daemon| {
        Some(Job {
            job: "12".into(),
            step: Some("batch".into()),
            uid,
            is_daemon,
        })
    };
    let first = "9:cpuset:/slurm/uid_1000/job_12/step_batch/task_0\n0::/system.slice/slurmd.service\n";
    assert_eq!(of(first).job, job(Some(1000), false));
    let second = "0::/system.slice/slurmstepd.scope/job_12/step_batch/user/task_0\n";
    assert_eq!(of(second).job, job(None, false));
    let daemon = "0::/system.slice/node1_slurmstepd.scope/job_12/step_batch/slurm\n";
    assert_eq!(of(daemon).job, job(None, true));
    assert_eq!(of("0::/batch/job_12\n").job, None);
    assert_eq!(of("0::/system.slice/slurmstepd.scope/system\n").job, None);
}

#[test]
fn notebooks_units_and_slices() {
    for (text, user) in [
        ("0::/system.slice/jupyter-ann.service\n", Some("ann")),
        ("0::/jupyter.slice/jupyter-ann-singleuser.service\n", Some("ann")),
        ("0::/system.slice/jupyter-ann\\x2dlee.service\n", Some("ann-lee")),
        ("0::/system.slice/jupyterhub.service\n", None),
        ("0::/system.slice/jupyter-.service\n", None),
        ("0::/jupyter-x.slice\n", None),
    ] {
        assert_eq!(of(text).notebook.as_deref(), user, "{text}");
    }
    let deep =
        of("0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope\n1:name=systemd:/a.slice\n");
    assert_eq!(deep.slices, ["app.slice", "user-1000.slice", "user.slice"]);
    assert_eq!(deep.units, ["user@1000.service", "x.scope"]);
    assert_eq!(deep.paths.len(), 2);
    assert_eq!(of("4:memory:/\n0::/\n"), Placement::default());
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(text in proptest::collection::vec(any::<u8>(), 0..300), name in ".{0,40}") {
        let _ = (Placement::read(&text), unescape(&name));
    }
}
