import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Base64;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

final class Callbacks {
    /** Header names are in lower case. */
    static boolean isGenuine(String secret, Map<String, String> headers, byte[] body) throws GeneralSecurityException {
        String timestamp = headers.getOrDefault("webhook-timestamp", "");
        if (!timestamp.matches("[0-9]{1,12}")) return false;
        if (Math.abs(Instant.now().getEpochSecond() - Long.parseLong(timestamp)) > 300) return false;
        byte[] key = Base64.getDecoder().decode(secret.replaceFirst("^whsec_", ""));
        if (key.length < 24) throw new InvalidKeyException("the secret is not set: it is a text such as whsec_...");
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        String id = headers.getOrDefault("webhook-id", "");
        mac.update((id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8));
        String expected = "v1," + Base64.getEncoder().encodeToString(mac.doFinal(body));
        for (String given : headers.getOrDefault("webhook-signature", "").split(" ")) {
            byte[] one = expected.getBytes(StandardCharsets.UTF_8);
            if (MessageDigest.isEqual(one, given.getBytes(StandardCharsets.UTF_8))) return true;
        }
        return false;
    }
}
