//! Who may talk to a player.
//!
//! A player listens on a port of the machine, where web pages can reach it, too: any page that somebody looks at may send a
//! request to `http://127.0.0.1:9147`, or to a name of its own that it lets point there. Browsers say in `Origin` which page
//! sends a request, and in `Host` by which name. So requests of pages are refused unless their origin is allowed, and requests to
//! other names than those of this machine, too. Managers that are programs send no `Origin`, and address the player as it is bound.

use std::net::IpAddr;

use crate::protocol::http::Received;

/// Who is let in besides programs that call this machine by its address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Door {
    /// Names by which the player may be called.
    pub hosts: Vec<String>,
    /// Origins of web pages that may talk to it, such as `https://manager.example`.
    pub origins: Vec<String>,
}

impl Door {
    /// Why a request that came in at an address of this machine is not let in.
    pub(super) fn refuses(&self, received: &Received, at: Option<IpAddr>) -> Option<String> {
        if let Some(host) = received.host.as_deref().filter(|host| !self.knows(host, at)) {
            return Some(format!("it is for the host {host:?}; --allow-host lets that in"));
        }
        match received.origin.as_deref() {
            Some(origin) if !self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin)) => {
                Some(format!("it comes from a web page of {origin:?}; --allow-origin lets that in"))
            }
            _ => None,
        }
    }

    fn knows(&self, host: &str, at: Option<IpAddr>) -> bool {
        let name = without_port(host);
        if self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name) || known.eq_ignore_ascii_case(host)) {
            return true;
        }
        // Some managers leave the name empty.
        let is_local = name.is_empty() || name.eq_ignore_ascii_case("localhost");
        let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
        is_local || address.is_ok_and(|address| address.is_loopback() || Some(plain(address)) == at.map(plain))
    }
}

/// A name without the port behind it.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|byte| byte.is_ascii_digit()) && (!name.contains(':') || name.ends_with(']')) =>
        {
            name
        }
        _ => host,
    }
}

/// An address in its shortest form.
fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) => address.to_ipv4_mapped().map_or(address.into(), IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::http::Request;

    fn refuses(door: &Door, host: Option<&str>, origin: Option<&str>) -> bool {
        let [host, origin] = [host, origin].map(|text| text.map(str::to_owned));
        let received = Received { request: Request::Message("(INFO)".to_owned()), host, origin };
        door.refuses(&received, Some([192, 168, 0, 7].into())).is_some()
    }

    #[test]
    fn programs_that_call_this_machine_are_let_in_and_pages_are_not() {
        let door = Door::default();
        for host in
            ["localhost", "localhost:9147", "LOCALHOST:1", "127.0.0.1:9147", "127.8.8.8", "[::1]:9147", "::1", ""]
        {
            assert!(!refuses(&door, Some(host), None), "{host}");
        }
        assert!(!refuses(&door, None, None));
        assert!(!refuses(&door, Some("192.168.0.7:9147"), None), "the address that it came in at");
        for host in
            ["evil.example", "evil.example:9147", "localhost.evil.example", "10.0.0.1", "127.0.0.1.evil.example"]
        {
            assert!(refuses(&door, Some(host), None), "{host}");
        }
        for origin in ["http://evil.example", "null", "http://localhost:9147", ""] {
            assert!(refuses(&door, Some("localhost"), Some(origin)), "{origin}");
        }
        let door = Door { hosts: vec!["box".to_owned()], origins: vec!["https://manager.example".to_owned()] };
        assert!(!refuses(&door, Some("box:9147"), Some("https://manager.example")));
        assert!(refuses(&door, Some("box:9147"), Some("https://manager.example.evil")));
    }
}
