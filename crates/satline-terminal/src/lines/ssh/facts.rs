//! What `ssh` makes of a host's name by its configuration.

/// From what `ssh -G` prints; files as they are written there.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub host: String,
    pub port: u16,
    pub user: String,
    /// The way leads over another host or a program.
    pub by_proxy: bool,
    /// As known hosts name it, if not by its own name.
    pub alias: Option<String>,
    pub identities: Vec<String>,
    /// No agent's further keys.
    pub identities_only: bool,
    pub known_hosts: Vec<String>,
}

impl Facts {
    pub(super) fn parse(text: &str) -> Self {
        let mut facts = Self::default();
        for (key, value) in text.lines().filter_map(|line| line.split_once(' ')) {
            match key {
                "hostname" => value.clone_into(&mut facts.host),
                "port" => facts.port = value.parse().unwrap_or(0),
                "user" => value.clone_into(&mut facts.user),
                "proxyjump" | "proxycommand" if value != "none" => facts.by_proxy = true,
                "hostkeyalias" => facts.alias = Some(value.to_owned()),
                "identityfile" => facts.identities.push(value.to_owned()),
                "identitiesonly" => facts.identities_only = value == "yes",
                "userknownhostsfile" | "globalknownhostsfile" => {
                    facts.known_hosts.extend(value.split(' ').map(str::to_owned));
                }
                _ => {}
            }
        }
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::Facts;

    #[test]
    fn the_configuration_is_read() {
        let text = "user root\nhostname 192.0.2.7\nport 2222\nproxyjump gate\nproxycommand none\nidentitiesonly yes\n\
            identityfile ~/.ssh/a b\nidentityfile /k\nuserknownhostsfile ~/.ssh/known_hosts /x\n\
            globalknownhostsfile /y\nhostkeyalias other\n";
        let known = ["~/.ssh/known_hosts", "/x", "/y"];
        let expected = Facts {
            host: "192.0.2.7".into(),
            port: 2222,
            user: "root".into(),
            by_proxy: true,
            alias: Some("other".into()),
            identities: vec!["~/.ssh/a b".into(), "/k".into()],
            identities_only: true,
            known_hosts: known.map(String::from).to_vec(),
        };
        assert_eq!(Facts::parse(text), expected);
        assert!(!Facts::parse("hostname a b\nproxyjump none\n").by_proxy);
        assert_eq!(Facts::parse("no such thing"), Facts::default());
    }
}
