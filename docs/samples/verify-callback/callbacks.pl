use strict;
use warnings;
use Digest::SHA qw(hmac_sha256);
use MIME::Base64 qw(decode_base64 encode_base64);

# Header names are in lower case; $body has the bytes that were received, before any parser changed them.
sub is_genuine {
    my ($secret, $headers, $body) = @_;
    my ($id, $timestamp, $signatures) = map { $headers->{"webhook-$_"} // '' } qw(id timestamp signature);
    return 0 if $timestamp !~ /\A[0-9]{1,12}\z/ || abs(time - $timestamp) > 300;
    my $key = decode_base64($secret =~ s/\Awhsec_//r);
    die "the secret is not set: it is a text such as whsec_...\n" if length($key) < 24;
    my $expected = 'v1,' . encode_base64(hmac_sha256("$id.$timestamp.$body", $key), '');
    # Digests are compared, so that the time of `eq` says nothing about the signature.
    my $digest = hmac_sha256($expected, $key);
    return scalar grep { hmac_sha256($_, $key) eq $digest } split / /, $signatures;
}

1;
