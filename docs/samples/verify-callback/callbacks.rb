require "openssl"

# Header names are in lower case; body is what was received, before any parser changed it.
def genuine?(secret, headers, body)
  timestamp = headers["webhook-timestamp"].to_s
  return false unless timestamp.match?(/\A[0-9]{1,12}\z/) && (Time.now.to_i - timestamp.to_i).abs <= 300

  key = secret.delete_prefix("whsec_").unpack1("m")
  raise ArgumentError, "the secret is not set: it is a text such as whsec_..." if key.bytesize < 24

  content = "#{headers["webhook-id"]}.#{timestamp}.".b + body.b
  expected = "v1," + [OpenSSL::HMAC.digest("SHA256", key, content)].pack("m0")
  headers["webhook-signature"].to_s.split.any? { |given| OpenSSL.secure_compare(expected, given) }
end
