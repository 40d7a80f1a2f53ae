//! The one graph algorithm that the language needs.

/// The strongly connected components of a graph given by its successors, each sorted; a component comes after all
/// components that it has edges to. (Tarjan 1972, with an explicit stack.)
pub fn components(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let n = successors.len();
    let (mut order, mut low) = (vec![NEW; n], vec![0; n]);
    let mut on_stack = vec![false; n];
    let (mut stack, mut components, mut counter) = (Vec::new(), Vec::new(), 0);
    for root in 0..n {
        if order[root] != NEW {
            continue;
        }
        // Each frame is a node and how many of its edges have been followed.
        let mut frames = vec![(root, 0)];
        while let Some(&mut (node, ref mut followed)) = frames.last_mut() {
            if *followed == 0 {
                (order[node], low[node]) = (counter, counter);
                counter += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(&next) = successors[node].get(*followed) {
                *followed += 1;
                if order[next] == NEW {
                    frames.push((next, 0));
                } else if on_stack[next] {
                    low[node] = low[node].min(order[next]);
                }
                continue;
            }
            frames.pop();
            if let Some(&(parent, _)) = frames.last() {
                low[parent] = low[parent].min(low[node]);
            }
            if low[node] == order[node] {
                let from = stack.iter().rposition(|&other| other == node).expect("the node is on the stack");
                let mut component = stack.split_off(from);
                component.iter().for_each(|&member| on_stack[member] = false);
                component.sort_unstable();
                components.push(component);
            }
        }
    }
    components
}

#[cfg(test)]
mod tests {
    use super::components;

    #[test]
    fn lower_components_come_first() {
        let graph = [vec![1], vec![2, 3], vec![1], vec![], vec![4, 0]];
        assert_eq!(components(&graph), [vec![3], vec![1, 2], vec![0], vec![4]]);
    }
}
