package peer;

import com.google.protobuf.CodedOutputStream;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.PemKeyCertOptions;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/** The subject on Vert.x: peers/README.md has the contract of /feed, /events and /publish. */
public final class Main {
  private static final int MAX_BODY = 64 << 10;

  private final Vertx vertx;

  /** Subscribers by topic. One event loop serves all connections, so nothing is locked. */
  private final Map<String, Set<HttpServerResponse>> topics = new HashMap<>();

  private Main(Vertx vertx) {
    this.vertx = vertx;
  }

  public static void main(String[] args) {
    Vertx vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1));
    HttpServerOptions options = new HttpServerOptions().setHost(args[0]).setPort(Integer.parseInt(args[1])).setAcceptBacklog(4096);
    if (args.length > 3 && !args[2].isEmpty()) {
      // All subjects use the same cryptography.
      options.setSsl(true).setUseAlpn(true).setKeyCertOptions(new PemKeyCertOptions().setCertPath(args[2]).setKeyPath(args[3]));
      options.addEnabledCipherSuite("TLS_AES_128_GCM_SHA256").setEnabledSecureTransportProtocols(Set.of("TLSv1.3"));
    }
    Main app = new Main(vertx);
    HttpServer server = vertx.createHttpServer(options).requestHandler(app::handle);
    server.listen().onFailure(e -> {
      System.err.println("listen: " + e.getMessage());
      System.exit(1);
    });
  }

  private void handle(HttpServerRequest r) {
    switch (r.path()) {
      case "/plaintext" -> r.response().putHeader("Content-Type", "text/plain").end("Hello, World!");
      case "/feed" -> feed(r);
      case "/events" -> events(r);
      case "/publish" -> r.body().onSuccess(body -> publish(r, body));
      default -> r.response().setStatusCode(404).end();
    }
  }

  private static HttpServerResponse endless(HttpServerRequest r, String kind) {
    return r.response().setChunked(true).putHeader("Content-Type", kind).putHeader("Cache-Control", "no-cache");
  }

  private void feed(HttpServerRequest r) {
    String interval = r.getParam("interval");
    String format = r.getParam("format");
    boolean protobuf = "protobuf".equals(format);
    int size = Integer.parseInt(r.getParam("size", "40"));
    if (interval == null || !interval.endsWith("ms") || size < 32 || size > 65536 || !protobuf && !"json".equals(format)) {
      r.response().setStatusCode(400).end();
      return;
    }
    HttpServerResponse response = endless(r, protobuf ? "application/x-protobuf" : "text/event-stream");
    String text = "x".repeat(size);
    long[] seq = {0};
    Runnable send = () -> {
      if (response.writeQueueFull()) {
        return; // a client that does not read misses events
      }
      Instant now = Instant.now();
      long ts = now.getEpochSecond() * 1_000_000_000L + now.getNano();
      response.write(protobuf ? delimited(ts, ++seq[0], text) : event(ts, ++seq[0], text));
    };
    send.run();
    long timer = vertx.setPeriodic(Long.parseLong(interval.substring(0, interval.length() - 2)), id -> send.run());
    response.closeHandler(v -> vertx.cancelTimer(timer));
    response.exceptionHandler(e -> vertx.cancelTimer(timer));
  }

  private static Buffer event(long ts, long seq, String text) {
    JsonObject tick = new JsonObject().put("ts", ts).put("seq", seq).put("text", text);
    return Buffer.buffer("data: ").appendBuffer(tick.toBuffer()).appendString("\n\n");
  }

  /** An event of /feed as the message of internal/subject/feed.proto, after its length. */
  private static Buffer delimited(long ts, long seq, String text) {
    int size = CodedOutputStream.computeFixed64Size(1, ts) + CodedOutputStream.computeUInt64Size(2, seq)
        + CodedOutputStream.computeStringSize(3, text);
    try {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream(size + 5);
      CodedOutputStream out = CodedOutputStream.newInstance(bytes);
      out.writeUInt32NoTag(size);
      out.writeFixed64(1, ts);
      out.writeUInt64(2, seq);
      out.writeString(3, text);
      out.flush();
      return Buffer.buffer(bytes.toByteArray());
    } catch (IOException e) {
      throw new UncheckedIOException(e); // of an array: never
    }
  }

  private void events(HttpServerRequest r) {
    String topic = r.getParam("topic");
    if (topic == null || topic.isEmpty() || topic.length() > 256) {
      r.response().setStatusCode(400).end();
      return;
    }
    HttpServerResponse response = endless(r, "text/event-stream");
    topics.computeIfAbsent(topic, t -> new LinkedHashSet<>()).add(response);
    Runnable leave = () -> topics.computeIfPresent(topic, (t, all) -> {
      all.remove(response);
      return all.isEmpty() ? null : all;
    });
    response.closeHandler(v -> leave.run());
    response.exceptionHandler(e -> leave.run());
    response.write(Buffer.buffer()); // sends the head
  }

  private void publish(HttpServerRequest r, Buffer body) {
    String topic = r.getParam("topic");
    String text = body.toString();
    if (topic == null || body.length() == 0 || body.length() > MAX_BODY || text.indexOf('\n') >= 0 || text.indexOf('\r') >= 0) {
      r.response().setStatusCode(400).end();
      return;
    }
    Buffer event = Buffer.buffer("data: ").appendBuffer(body).appendString("\n\n");
    for (HttpServerResponse s : topics.getOrDefault(topic, Set.of())) {
      if (!s.writeQueueFull()) { // a client that does not read misses events
        s.write(event);
      }
    }
    r.response().setStatusCode(204).end();
  }
}
