//! The image of a feature has in a state the value that the feature has in the state's image.

mod common;

use features::columns::Columns;
use features::feature::Feature;
use features::game::{Game, Views};
use features::image;
use features::logic::canonical::canonical;
use features::structural;

use common::{bodies, read, states};

/// Games with a symmetry that exchanges the roles, and the part of all features whose mirror image can be written down.
const GAMES: [(&str, f64); 5] = [
    ("tic-tac-toe", 1.0),
    ("connect-four", 1.0),
    ("breakthrough-6x6", 1.0),
    ("othello-6x6", 0.9),
    ("checkers-5x5-4", 0.9),
];

#[test]
fn images_have_the_values_of_the_images_of_states() {
    for (name, least) in GAMES {
        let game = Game::new(read(name), 1).expect("it has a network");
        let views = Views::new(&game).expect("it has views");
        let states = states(&game, 200, 3);
        let states: Vec<&[u64]> = states.iter().map(|state| &state[..]).collect();
        let mut here = Columns::new(&game, &views, &states);
        let structure = structural::propose(&game, &structural::Budget { features: 200, ..Default::default() });
        let mut features: Vec<Feature> = structure.features.into_iter().map(|named| named.feature).collect();
        features.extend(bodies(&game.program));
        let all = image::find(&game, 1);
        assert!(all.iter().any(|images| images.exchanges_roles()), "{name}: no mirror image");
        for images in &all {
            let mut there = images.columns(&game, &views, &states);
            let (mut n_known, mut n_right, mut n_images) = (0, 0, 0);
            for feature in &features {
                let (Some(own), Some(wanted)) = (here.values(feature), there.values(feature)) else { continue };
                n_known += 1;
                let Some(image) = images.of(feature) else { continue };
                n_images += 1;
                let values = here.values(&image);
                if values == Some(wanted) {
                    n_right += 1;
                } else {
                    let shown = feature.display(&game.program.symbols);
                    let image = image.display(&game.program.symbols);
                    assert!(own.iter().any(|&value| value != 0), "{name}: {shown} has the image {image}");
                }
            }
            assert!(
                n_right as f64 >= least * f64::from(n_known),
                "{name}: {n_right} of {n_images} of {n_known} images"
            );
        }
    }
}

#[test]
fn the_mirror_image_of_the_mirror_image_is_the_feature() {
    for name in ["tic-tac-toe", "connect-four", "breakthrough-6x6"] {
        let game = Game::new(read(name), 1).expect("it has a network");
        let all = image::find(&game, 1);
        let images = all.iter().find(|images| images.exchanges_roles()).expect("a mirror image");
        let structure = structural::propose(&game, &structural::Budget { features: 100, ..Default::default() });
        for named in &structure.features {
            // A list may become a relation of the rules; from then on images are written alike.
            let image = |feature: &Feature| images.of(feature).expect("an image");
            let twice = image(&image(&named.feature));
            let text = |feature: &Feature| canonical(feature).display(&game.program.symbols).to_string();
            assert_eq!(text(&image(&image(&twice))), text(&twice), "{name}");
            let has_list = named.feature.display(&game.program.symbols).to_string().contains("member");
            assert!(has_list || text(&twice) == text(&named.feature), "{name}");
        }
    }
}
