//! Search compares documents once more with a query that moved towards the best of them.

use super::*;

/// Library with documents at angles to the vector of [`QUERY`]: the last two are as near to it, and only the last
/// one is on the side of the best two.
async fn around_the_query() -> Library {
    let library = Library::with_model().await;
    let query = library
        .embedder
        .as_ref()
        .expect("there is a model")
        .query("ana", QUERY.to_owned())
        .await
        .expect("it runs");
    let aside = orthogonal_to(&query);
    let notes = ["Ash", "Birch", "Cedar", "Dill"].map(|title| note(title, &format!("{title} wing heat")));
    library.add("ana", notes).await;
    for (title, angle) in [("Ash", 20.0_f32), ("Birch", 25.0), ("Cedar", -40.0), ("Dill", 41.0)] {
        let (sine, cosine) = angle.to_radians().sin_cos();
        let numbers = query.iter().zip(&aside).map(|(query, aside)| cosine * query + sine * aside);
        let vector: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
        let update = sql("UPDATE chunks SET vector = $1
             WHERE document = (SELECT sequence FROM documents WHERE title = $2)");
        library.database.write(update.bind(vector).bind(title)).await;
    }
    library
}

/// Has no word of the documents.
const QUERY: &str = "moon";

/// Vector of length 1 at a right angle to one of length 1.
fn orthogonal_to(vector: &[f32]) -> Vec<f32> {
    let mut other = vec![0.0; vector.len()];
    other[0] = 1.0;
    let share = vector[0];
    other.iter_mut().zip(vector).for_each(|(other, number)| *other -= share * number);
    let length = other.iter().map(|number| number * number).sum::<f32>().sqrt();
    other.into_iter().map(|number| number / length).collect()
}

#[tokio::test]
async fn of_documents_as_near_to_the_query_the_one_near_to_the_best_comes_first() {
    let library = around_the_query().await;

    assert_eq!(library.find("ana", QUERY).await, ["Ash", "Birch", "Dill", "Cedar"]);
}

#[tokio::test]
async fn documents_that_a_phrase_excludes_do_not_move_the_query() {
    let library = around_the_query().await;

    let found = library.find("ana", &format!("{QUERY} -title:ash -\"birch wing\"")).await;

    assert_eq!(found, ["Cedar", "Dill"]);
}
