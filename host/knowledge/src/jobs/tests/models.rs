//! Embedding jobs: with a model, a failing model, another model, and no model.

use super::super::retry::Remedy;
use super::*;

fn failure(remedy: Remedy) -> Failure {
    Failure { reason: "the model is out".to_owned(), remedy }
}

#[tokio::test]
async fn with_a_model_a_document_is_ready_once_each_chunk_has_a_vector() {
    let (context, _data) = context().await;
    // More chunks than fit into one batch.
    let long = "A sentence of some words that says little. ".repeat(3000);
    let id = &context.ingest("ana", vec![note("Long", &long)]).await[0];
    context.index_all(Some(Kind::Embed)).await;
    assert!(context.store.count("chunks").await > 64, "{} chunks", context.store.count("chunks").await);

    context.embed(MODEL, vectors).await;
    assert_eq!(context.store.state("ana", id).await, State::Pending);
    while context.embed(MODEL, vectors).await > 0 {}

    assert_eq!(context.store.state("ana", id).await, State::Ready);
    assert_eq!(context.store.count("chunks WHERE vector IS NULL OR model <> 'model-a'").await, 0);
    assert_eq!(context.store.count("chunks WHERE length(vector) <> 8").await, 0);
    assert_eq!(context.store.job(id).await, None);
}

#[tokio::test]
async fn a_model_that_is_out_is_asked_again_and_given_up_in_the_end() {
    let (context, _data) = context().await;
    let ids = context.ingest("ana", notes("a", 2)).await;
    context.index_all(Some(Kind::Embed)).await;
    let asked = AtomicUsize::new(0);
    let out = |_| {
        asked.fetch_add(1, Ordering::SeqCst);
        async { Err(failure(Remedy::Time)) }
    };

    while context.embed(MODEL, out).await > 0 {}

    for id in &ids {
        let expected = "it is found by its words only: the model is out".to_owned();
        assert_eq!(context.store.state("ana", id).await, State::Failed(expected));
        assert_eq!(context.store.job(id).await, None);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 5, "both together, and then each for itself");

    // After a restart it is tried again, and becomes ready.
    assert!(context.embed_again(None, 0, 10).await.is_some());
    while context.embed(MODEL, vectors).await > 0 {}
    assert_eq!(context.store.state("ana", &ids[0]).await, State::Ready);
}

#[tokio::test]
async fn a_text_that_the_model_cannot_read_fails_its_document_and_no_other() {
    let (context, _data) = context().await;
    let mut documents = notes("a", 5);
    documents.push(note("Poison", "poison"));
    let ids = context.ingest("ana", documents).await;
    context.index_all(Some(Kind::Embed)).await;
    let picky = |texts: Vec<String>| async move {
        if texts.iter().any(|text| text.contains("poison")) {
            Err(failure(Remedy::Nothing))
        } else {
            vectors(texts).await
        }
    };

    while context.embed(MODEL, picky).await > 0 {}

    for id in &ids[..5] {
        assert_eq!(context.store.state("ana", id).await, State::Ready);
    }
    assert!(matches!(context.store.state("ana", &ids[5]).await, State::Failed(_)));
}

#[tokio::test]
async fn a_text_that_the_service_fails_on_again_and_again_fails_its_document_and_no_other() {
    let (context, _data) = context().await;
    let mut documents = notes("a", 5);
    documents.insert(2, note("Poison", "poison"));
    let ids = context.ingest("ana", documents).await;
    context.index_all(Some(Kind::Embed)).await;
    let picky = |texts: Vec<String>| async move {
        if texts.iter().any(|text| text.contains("poison")) {
            Err(failure(Remedy::Time))
        } else {
            vectors(texts).await
        }
    };

    while context.embed(MODEL, picky).await > 0 {}

    for (number, id) in ids.iter().enumerate() {
        let state = context.store.state("ana", id).await;
        assert_eq!(matches!(state, State::Failed(_)), number == 2, "{number}: {state:?}");
    }
}

#[tokio::test]
async fn no_document_fails_for_what_the_operator_configured() {
    let (context, _data) = context().await;
    let id = &context.ingest("ana", notes("a", 2)).await[0];
    context.index_all(Some(Kind::Embed)).await;

    for _ in 0..10 {
        assert_eq!(context.embed(MODEL, |_| async { Err(failure(Remedy::Operator)) }).await, 2);
    }

    assert_eq!(context.store.state("ana", id).await, State::Pending);
    assert_eq!(context.store.job(id).await, Some(("embed".to_owned(), 0)));
}

#[tokio::test]
async fn what_is_ready_stays_ready_when_another_model_does_not_take_it() {
    let (context, _data) = context().await;
    let id = &context.ingest("ana", notes("a", 1)).await[0];
    context.index_all(Some(Kind::Embed)).await;
    while context.embed(MODEL, vectors).await > 0 {}
    assert!(context.embed_again(Some(MODEL), 0, 2).await.is_some());

    while context.embed("model-b", |_| async { Err(failure(Remedy::Nothing)) }).await > 0 {}

    assert_eq!((context.store.job(id).await, context.store.state("ana", id).await), (None, State::Ready));
}

#[tokio::test]
async fn another_model_embeds_everything_again_while_documents_stay_ready() {
    let (context, _data) = context().await;
    let id = &context.ingest("ana", notes("a", 3)).await[0];
    context.index_all(Some(Kind::Embed)).await;
    while context.embed(MODEL, vectors).await > 0 {}

    assert_eq!(context.embed_again(None, 0, 10).await, None);
    let second = context.embed_again(Some(MODEL), 0, 2).await.expect("there are three");
    let third = context.embed_again(Some(MODEL), second, 2).await.expect("there are three");
    assert_eq!(context.embed_again(Some(MODEL), third, 2).await, None);
    assert_eq!(context.store.count("knowledge_jobs").await, 3);
    assert_eq!(context.store.state("ana", id).await, State::Ready);
    assert_eq!(context.store.count("chunks WHERE model = 'model-a' AND vector IS NOT NULL").await, 3);
    while context.embed("model-b", vectors).await > 0 {}

    assert_eq!(context.store.count("chunks WHERE model = 'model-b'").await, 3);
    assert_eq!(context.store.state("ana", id).await, State::Ready);
}

#[tokio::test]
async fn what_is_new_does_not_wait_until_everything_is_embedded_again() {
    let (context, _data) = context().await;
    for batch in ["a", "b"] {
        context.ingest("ana", notes(batch, 750)).await;
    }
    context.index_all(Some(Kind::Embed)).await;
    while context.embed(MODEL, vectors).await > 0 {}

    let queuing = context.clone();
    let queuing = tokio::spawn(async move { adapting::queue_old(&queuing, "model-b").await });
    while context.store.count("knowledge_jobs").await == 0 {
        tokio::task::yield_now().await;
    }
    let new = &context.ingest("ana", vec![note("New", "new")]).await[0];
    context.index_all(Some(Kind::Embed)).await;
    let mut before = 0;
    while context.store.state("ana", new).await == State::Pending {
        before += context.embed("model-b", vectors).await;
    }
    assert!(before <= 600, "{before} of 1,500");

    while context.embed("model-b", vectors).await > 0 || !queuing.is_finished() {
        tokio::task::yield_now().await;
    }
    queuing.await.expect("no panic").expect("the database works");
    assert_eq!(context.store.count("chunks WHERE model = 'model-b'").await, 1_501);
}

#[tokio::test]
async fn a_server_without_a_model_does_not_wait_for_one() {
    let (context, _data) = context().await;
    let id = &context.ingest("ana", notes("a", 1)).await[0];
    context.index_all(Some(Kind::Embed)).await;
    assert_eq!(context.store.job(id).await, Some(("embed".to_owned(), 0)));

    context.store.do_without_model().await.expect("the database works");

    assert_eq!((context.store.job(id).await, context.store.state("ana", id).await), (None, State::Ready));
}
