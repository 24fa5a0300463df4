//! The subject on axum: peers/README.md has the contract of /feed, /events and /publish.

use std::{collections::HashMap, convert::Infallible, net::SocketAddr, sync::{Arc, Mutex}, time::{Duration, SystemTime, UNIX_EPOCH}};

use axum::{body::{Body, Bytes}, extract::{Query, State}, http::{header, StatusCode}, response::{IntoResponse, Response}, routing::{get, post}, Router};
use futures_util::{Stream, StreamExt};
use prost::Message;
use serde::{Deserialize, Serialize};
use tokio::{sync::broadcast, time::{interval, MissedTickBehavior}};
use tokio_stream::wrappers::{BroadcastStream, IntervalStream};

/// An event of /feed; internal/subject/feed.proto has it as a message.
#[derive(Clone, PartialEq, Message, Serialize)]
struct Tick {
    #[prost(fixed64, tag = "1")]
    ts: u64,
    #[prost(uint64, tag = "2")]
    seq: u64,
    #[prost(string, tag = "3")]
    text: String,
}

#[derive(Deserialize)]
struct FeedQuery {
    interval: String,
    size: usize,
    format: String,
}

#[derive(Deserialize)]
struct TopicQuery {
    topic: String,
}

/// Topics, with a channel each.
type Topics = Arc<Mutex<HashMap<String, broadcast::Sender<Bytes>>>>;

/// How many events may wait for a subscriber; one that is further behind misses some.
const ROOM: usize = 64;

fn parse_interval(text: &str) -> Option<Duration> {
    let d = if let Some(n) = text.strip_suffix("ms") {
        Duration::from_millis(n.parse().ok()?)
    } else {
        Duration::from_secs(text.strip_suffix('s')?.parse().ok()?)
    };
    (d >= Duration::from_millis(1) && d <= Duration::from_secs(3600)).then_some(d)
}

fn endless(kind: &'static str, events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let body = Body::from_stream(events.map(Ok::<_, Infallible>));
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], body).into_response()
}

async fn feed(Query(q): Query<FeedQuery>) -> Response {
    let (Some(every), 32..=65536) = (parse_interval(&q.interval), q.size) else {
        return (StatusCode::BAD_REQUEST, "interval or size is out of bounds\n").into_response();
    };
    let protobuf = match q.format.as_str() {
        "json" => false,
        "protobuf" => true,
        _ => return (StatusCode::BAD_REQUEST, "format is neither json nor protobuf\n").into_response(),
    };
    let mut tick = Tick { ts: 0, seq: 0, text: "x".repeat(q.size) };
    let mut timer = interval(every);
    timer.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let events = IntervalStream::new(timer).map(move |_| {
        tick.ts = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        tick.seq += 1;
        if protobuf {
            return Bytes::from(tick.encode_length_delimited_to_vec());
        }
        let mut event = b"data: ".to_vec();
        serde_json::to_writer(&mut event, &tick).unwrap();
        event.extend_from_slice(b"\n\n");
        Bytes::from(event)
    });
    endless(if protobuf { "application/x-protobuf" } else { "text/event-stream" }, events)
}

async fn events(State(topics): State<Topics>, Query(q): Query<TopicQuery>) -> Response {
    let receiver = topics.lock().unwrap().entry(q.topic).or_insert_with(|| broadcast::channel(ROOM).0).subscribe();
    endless("text/event-stream", BroadcastStream::new(receiver).filter_map(|event| async { event.ok() }))
}

async fn publish(State(topics): State<Topics>, Query(q): Query<TopicQuery>, body: Bytes) -> StatusCode {
    if body.is_empty() || body.len() > 64 << 10 || body.iter().any(|c| matches!(c, b'\r' | b'\n')) {
        return StatusCode::BAD_REQUEST;
    }
    let event = Bytes::from([b"data: ", &body[..], b"\n\n"].concat());
    let mut topics = topics.lock().unwrap();
    if let Some(sender) = topics.get(&q.topic) {
        if sender.send(event).is_err() {
            topics.remove(&q.topic); // nobody listens any more
        }
    }
    StatusCode::NO_CONTENT
}

async fn run() {
    let args: Vec<String> = std::env::args().collect();
    let app = Router::new()
        .route("/plaintext", get(|| async { ([(header::CONTENT_TYPE, "text/plain")], "Hello, World!") }))
        .route("/feed", get(feed))
        .route("/events", get(events))
        .route("/publish", post(publish))
        .with_state(Topics::default());
    let addr: SocketAddr = args[1].parse().expect("address");
    let (cert, key) = (args.get(2).map_or("", |s| s), args.get(3).map_or("", |s| s));
    if cert.is_empty() {
        let listener = tokio::net::TcpListener::bind(addr).await.expect("listen");
        axum::serve(listener, app).await.expect("serve");
        return;
    }
    let config = axum_server::tls_rustls::RustlsConfig::from_pem_file(cert, key).await.expect("certificate");
    axum_server::bind_rustls(addr, config).serve(app.into_make_service()).await.expect("serve");
}

#[tokio::main]
async fn main() {
    // All subjects use the same cryptography.
    let mut provider = rustls::crypto::ring::default_provider();
    provider.cipher_suites = vec![rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256];
    provider.kx_groups = vec![rustls::crypto::ring::kx_group::X25519];
    provider.install_default().expect("provider");
    let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).expect("signal");
    tokio::select! {
        () = run() => {}
        _ = term.recv() => {}
    }
}
