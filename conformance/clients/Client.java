// Java's HttpClient. Arguments: the version of HTTP, the URL of the server, the id of streams,
// the file of the authority. It has no trailers, and waits for a response until the request is
// sent whole, whatever the server.

import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.TrustManagerFactory;

public class Client {
    interface Case { void run() throws Exception; }

    static String base, id;
    static HttpClient client;
    static boolean failed;

    static void test(String name, Case c) {
        try {
            c.run();
            System.out.println("ok " + name);
        } catch (Throwable e) {
            failed = true;
            System.out.println("not ok " + name + ": " + e);
        }
    }

    static void same(String got, String want) {
        if (!got.equals(want)) {
            throw new AssertionError("got " + got.substring(0, Math.min(99, got.length())) + " of " + got.length() + " bytes");
        }
    }

    static HttpRequest.Builder to(String path) {
        return HttpRequest.newBuilder(URI.create(base + path)).timeout(Duration.ofSeconds(30));
    }

    static String get(String path) throws Exception {
        return client.send(to(path).build(), BodyHandlers.ofString()).body();
    }

    static SSLContext trust(String file) throws Exception {
        var store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null);
        try (var in = new FileInputStream(file)) {
            store.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(in));
        }
        var factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        var context = SSLContext.getInstance("TLS");
        context.init(null, factory.getTrustManagers(), null);
        return context;
    }

    static void many() throws Exception {
        var all = new ArrayList<CompletableFuture<String>>();
        for (int i = 0; i < 200; i++) {
            all.add(client.sendAsync(to("/small/" + i + "?id=" + id).build(), BodyHandlers.ofString()).thenApply(r -> r.body()));
        }
        for (int i = 0; i < all.size(); i++) {
            same(all.get(i).get(30, TimeUnit.SECONDS), "" + i);
        }
        System.out.println("# " + get("/peers?id=" + id) + " connections");
    }

    static void stream() throws Exception {
        var lines = client.send(to("/stream?id=" + id).build(), BodyHandlers.ofLines()).body().iterator();
        int n = 0;
        for (; lines.hasNext(); n++) {
            same(lines.next(), "part " + n);
            get("/next?id=" + id);
        }
        same("" + n, "3");
    }

    public static void main(String[] args) throws Exception {
        base = args[1];
        id = args[2];
        boolean two = args[0].equals("2");
        var version = two ? HttpClient.Version.HTTP_2 : HttpClient.Version.HTTP_1_1;
        client = HttpClient.newBuilder().version(version).sslContext(trust(args[3])).build();
        System.out.println("# Java " + System.getProperty("java.version"));
        var blob = new StringBuilder();
        for (int i = 0; blob.length() < 5 << 20; i++) {
            blob.append(i).append(',');
        }
        blob.setLength(5 << 20);
        test("get", () -> same(get("/hello"), two ? "HTTP/2.0" : "HTTP/1.1"));
        test("post", () -> same(client.send(to("/echo").POST(BodyPublishers.ofString(blob.toString())).build(), BodyHandlers.ofString()).body(), blob.toString()));
        test("many", Client::many);
        test("stream", Client::stream);
        test("ca", () -> {
            try {
                HttpClient.newHttpClient().send(to("/hello").build(), BodyHandlers.ofString());
            } catch (SSLHandshakeException e) {
                return;
            }
            throw new AssertionError("it connected");
        });
        System.exit(failed ? 1 : 0);
    }
}
