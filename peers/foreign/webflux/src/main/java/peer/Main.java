package peer;

import static org.springframework.web.reactive.function.server.RouterFunctions.route;

import com.google.protobuf.CodedOutputStream;
import io.netty.channel.ChannelOption;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.reactivestreams.Publisher;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.http.CacheControl;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.server.reactive.HttpHandler;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.http.Http11SslContextSpec;
import reactor.netty.http.server.HttpServer;

/** The subject on Spring WebFlux: peers/README.md has the contract of /feed, /events and /publish. */
public final class Main {
  private static final int MAX_BODY = 64 << 10;
  private static final MediaType PROTOBUF = MediaType.parseMediaType("application/x-protobuf");

  private final ConcurrentHashMap<String, Sinks.Many<byte[]>> topics = new ConcurrentHashMap<>();

  /** An event of /feed. */
  record Tick(long ts, long seq, String text) {}

  public static void main(String[] args) {
    Main app = new Main();
    HttpHandler handler = RouterFunctions.toHttpHandler(route()
        .GET("/plaintext", r -> ServerResponse.ok().contentType(MediaType.TEXT_PLAIN).bodyValue("Hello, World!"))
        .GET("/feed", app::feed)
        .GET("/events", app::events)
        .POST("/publish", app::publish)
        .build());
    HttpServer server = HttpServer.create().host(args[0]).port(Integer.parseInt(args[1]))
        .option(ChannelOption.SO_BACKLOG, 4096).handle(new ReactorHttpHandlerAdapter(handler));
    if (args.length > 3 && !args[2].isEmpty()) {
      // All subjects use the same cryptography.
      Http11SslContextSpec spec = Http11SslContextSpec.forServer(new File(args[2]), new File(args[3]));
      spec.configure(b -> b.protocols("TLSv1.3").ciphers(List.of("TLS_AES_128_GCM_SHA256")));
      server = server.secure(s -> s.sslContext(spec));
    }
    server.bindNow().onDispose().block();
  }

  /** A response whose parts are each sent at once. */
  private static Mono<ServerResponse> endless(MediaType kind, Flux<byte[]> parts) {
    Flux<Publisher<DataBuffer>> body = parts.map(b -> Mono.just(DefaultDataBufferFactory.sharedInstance.wrap(b)));
    return ServerResponse.ok().contentType(kind).cacheControl(CacheControl.noCache())
        .body((message, context) -> message.writeAndFlushWith(body));
  }

  private Mono<ServerResponse> feed(ServerRequest r) {
    String interval = r.queryParam("interval").orElse("");
    String format = r.queryParam("format").orElse("");
    int size = Integer.parseInt(r.queryParam("size").orElse("40"));
    boolean protobuf = format.equals("protobuf");
    if (!interval.endsWith("ms") || size < 32 || size > 65536 || !protobuf && !format.equals("json")) {
      return ServerResponse.badRequest().build();
    }
    String text = "x".repeat(size);
    Duration every = Duration.ofMillis(Long.parseLong(interval.substring(0, interval.length() - 2)));
    // A client that does not read misses events; those that are sent are numbered without holes.
    Flux<Tick> ticks = Flux.interval(Duration.ZERO, every).onBackpressureDrop().index().map(n -> {
      Instant now = Instant.now();
      return new Tick(now.getEpochSecond() * 1_000_000_000L + now.getNano(), n.getT1() + 1, text);
    });
    if (protobuf) {
      return endless(PROTOBUF, ticks.map(Main::delimited));
    }
    return ServerResponse.ok().contentType(MediaType.TEXT_EVENT_STREAM).cacheControl(CacheControl.noCache()).body(ticks, Tick.class);
  }

  /** An event as the message of internal/subject/feed.proto, after its length. */
  private static byte[] delimited(Tick t) {
    int size = CodedOutputStream.computeFixed64Size(1, t.ts()) + CodedOutputStream.computeUInt64Size(2, t.seq())
        + CodedOutputStream.computeStringSize(3, t.text());
    try {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream(size + 5);
      CodedOutputStream out = CodedOutputStream.newInstance(bytes);
      out.writeUInt32NoTag(size);
      out.writeFixed64(1, t.ts());
      out.writeUInt64(2, t.seq());
      out.writeString(3, t.text());
      out.flush();
      return bytes.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // of an array: never
    }
  }

  private Mono<ServerResponse> events(ServerRequest r) {
    String topic = r.queryParam("topic").orElse("");
    if (topic.isEmpty() || topic.length() > 256) {
      return ServerResponse.badRequest().build();
    }
    Flux<byte[]> events = topics.computeIfAbsent(topic, t -> Sinks.many().multicast().directBestEffort()).asFlux();
    // The head is sent with the first part, so that there is one at once: a comment.
    return endless(MediaType.TEXT_EVENT_STREAM, events.mergeWith(Mono.just(":\n\n".getBytes(StandardCharsets.UTF_8))));
  }

  private Mono<ServerResponse> publish(ServerRequest r) {
    String topic = r.queryParam("topic").orElse("");
    return r.bodyToMono(String.class).defaultIfEmpty("").flatMap(body -> {
      if (topic.isEmpty() || body.isEmpty() || body.length() > MAX_BODY || body.indexOf('\n') >= 0 || body.indexOf('\r') >= 0) {
        return ServerResponse.badRequest().build();
      }
      byte[] event = ("data: " + body + "\n\n").getBytes(StandardCharsets.UTF_8);
      Sinks.Many<byte[]> sink = topics.get(topic);
      if (sink != null) {
        synchronized (sink) { // a sink takes one event at a time
          sink.tryEmitNext(event);
        }
      }
      return ServerResponse.status(HttpStatus.NO_CONTENT).build();
    });
  }
}
