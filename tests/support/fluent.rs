//! The messages of Fluent's files, for the tests that hold them.

use std::collections::BTreeSet;

use fluent_syntax::ast::{Entry, Expression, InlineExpression, Pattern, PatternElement};

/// Ids of a file with the variables of each text.
///
/// # Panics
/// If it cannot be read, or holds something else than messages.
pub(crate) fn messages(file: &str) -> Vec<(&str, BTreeSet<&str>)> {
    let resource = fluent_syntax::parser::parse(file).unwrap_or_else(|(_, errors)| panic!("{errors:?}"));
    let message = |entry| {
        let Entry::Message(message) = entry else { panic!("{entry:?} is no message") };
        let mut found = BTreeSet::new();
        message.value.iter().for_each(|it| variables(it, &mut found));
        (message.id.name, found)
    };
    resource.body.into_iter().map(message).collect()
}

fn variables<'a>(pattern: &Pattern<&'a str>, found: &mut BTreeSet<&'a str>) {
    for element in &pattern.elements {
        let PatternElement::Placeable { expression } = element else { continue };
        let (Expression::Inline(named) | Expression::Select { selector: named, .. }) = expression;
        if let InlineExpression::VariableReference { id } = named {
            found.insert(id.name);
        }
        if let Expression::Select { variants, .. } = expression {
            for variant in variants {
                variables(&variant.value, found);
            }
        }
    }
}
