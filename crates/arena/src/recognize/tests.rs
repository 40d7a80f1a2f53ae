use super::*;

/// A game with something kept of it.
fn store(path: &std::path::Path) -> (Store, u128, i64) {
    let mut store = Store::open(path).expect("made");
    let rules = "(role white) (init (step 0)) (<= terminal (true (step 1))) (legal white go) (goal white 100)";
    let met = meet(parse("game", rules));
    remember(&mut store, &met, "game", rules, 1).expect("written");
    let model = store.keep_model(met.fingerprint(), "{}", b"model", 2).expect("written").expect("kept");
    (store, met.fingerprint(), model)
}

/// Whatever a change of the recognition version does to fingerprints and canonical forms, every model stays; those that are told
/// in the same names can be used, and the others are marked.
#[test]
fn a_change_of_version_keeps_every_model() {
    for (place, new_fingerprint, new_form) in [(0, false, false), (1, true, false), (2, false, true), (3, true, true)] {
        let folder = std::env::temp_dir().join(format!("senet-recognition-{place}-{}", std::process::id()));
        _ = std::fs::remove_dir_all(&folder);
        let path = folder.join("memory.db");
        let (mut store, fingerprint, model) = store(&path);
        let renewed = |game: &Game| Game {
            fingerprint: game.fingerprint ^ u128::from(new_fingerprint),
            canonical: if new_form { "(role a)".to_owned() } else { game.canonical.clone() },
            index: Index { version: VERSION + 1, ..game.index.clone() },
            ..game.clone()
        };
        assert_eq!(refresh_to(&mut store, VERSION + 1, &renewed).expect("written"), 1);
        assert_eq!(refresh_to(&mut store, VERSION + 1, &renewed).expect("nothing to do"), 0);
        // The version before leaves it alone.
        assert_eq!(refresh(&mut store).expect("nothing to do"), 0);
        let models = store.models().expect("read");
        assert_eq!(models.iter().map(|entry| entry.id).collect::<Vec<_>>(), [model]);
        assert_eq!(models[0].game, fingerprint ^ u128::from(new_fingerprint));
        assert_eq!(models[0].is_outdated, new_form);
        assert_eq!(store.model(&models[0]).expect("read").as_deref(), Some(b"model".as_slice()));
        assert_eq!(store.notices().len(), 1, "{:?}", store.notices());
        let copy = Store::open(&folder.join("memory.db-recognition-2")).expect("a copy is kept");
        assert_eq!(copy.models().expect("read")[0].game, fingerprint);
        drop((store, copy));
        std::fs::remove_dir_all(folder).expect("removed");
    }
}

/// What memories have of games is found again. Where a change gives other numbers, [`VERSION`] has to change, and these with it.
#[test]
fn numbers_stay_as_they_are() {
    let numbers = |name: &str| {
        let rules = std::fs::read_to_string(format!("../../games/{name}/rules.kif")).expect("a game of the library");
        let game = meet(parse(name, &rules)).to_game(name, &rules, 1);
        let bytes =
            |numbers: &[u64]| hash(&numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>());
        (game.fingerprint, bytes(&game.index.keys), bytes(&game.index.sketch))
    };
    assert_eq!(VERSION, 1);
    let expected = [
        ("tic-tac-toe", (0x9c77_e7a2_5396_6211_9393_9de6_e6e2_3ae6, 0x977c_0334_056a_f633, 0x90f6_9d00_769b_6f93)),
        ("minichess", (0xc0d9_410e_8c43_dec0_641a_7095_6b3a_c31e, 0x9eab_b7f8_8007_8d02, 0xd3a7_45de_65d6_a84a)),
        ("hanoi", (0x6a8f_ead1_d4d0_55c1_7bfe_b0c6_f624_8a9f, 0x2fa7_dc95_5f6d_a337, 0xca49_dd9a_22d7_192b)),
    ];
    expected.into_iter().for_each(|(name, expected)| assert_eq!(numbers(name), expected, "{name}"));
}
