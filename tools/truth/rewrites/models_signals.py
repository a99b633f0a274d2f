"""Sound and spectra."""

import keras
import tensorflow as tf
from keras import layers
from making import export, floats, integers, save


def speech_features(path: str) -> None:
    """MFCCs with their differences."""

    def call(sound):
        spectrum = tf.abs(tf.signal.stft(sound, 64, 32, fft_length=64))
        mel = spectrum @ tf.signal.linear_to_mel_weight_matrix(12, 33, 8000, 80.0, 3800.0)
        log = tf.math.log(mel + 1e-4)
        return {"mfcc": tf.signal.mfccs_from_log_mel_spectrograms(log)[..., :8], "log": log}

    save(path, tf.Module(), call, sound=floats(None, None))


def denoiser(path: str) -> None:
    """A spectral gate: stft, mask, inverse stft; and DCT, FFT shift, overlap-add."""

    def call(sound):
        spectrum = tf.signal.stft(sound, 32, 8, window_fn=tf.signal.hann_window)
        power = tf.abs(spectrum)
        gate = tf.cast(power > 0.3 * tf.reduce_max(power, -1, keepdims=True), tf.complex64)
        window = tf.signal.inverse_stft_window_fn(8, tf.signal.hann_window)
        clean = tf.signal.inverse_stft(spectrum * gate, 32, 8, window_fn=window)
        return {
            "clean": clean,
            "dct": tf.signal.dct(sound[:, :16], norm="ortho"),
            "angle": tf.math.angle(spectrum * gate),
            "shifted": tf.signal.fftshift(power, -1),
            "mdct": tf.signal.mdct(sound[:, :64], 16, norm="ortho"),
        }

    save(path, tf.Module(), call, sound=floats(None, 96))


def mel_network(path: str) -> None:
    """Keras layers for sound in front of a convnet."""
    sound = keras.Input((1600,), name="sound")
    mel = layers.MelSpectrogram(
        fft_length=128, sequence_stride=64, sampling_rate=8000, num_mel_bins=20, min_freq=40, max_freq=3900
    )(sound)
    spectrum = layers.STFTSpectrogram(mode="log", frame_length=64, frame_step=40, fft_length=64)(
        sound[..., None]
    )
    x = layers.Conv2D(4, 3, strides=2, activation="relu")(mel[..., None])
    y = layers.Conv1D(4, 3, strides=2, activation="relu")(spectrum)
    both = layers.Concatenate()([layers.GlobalAveragePooling2D()(x), layers.GlobalAveragePooling1D()(y)])
    export(keras.Model(sound, layers.Dense(3)(both)), path)


def image_spectrum(path: str) -> None:
    """Two-dimensional FFTs: blur by multiplication of spectra, real FFTs of odd sizes, complex parts."""

    def call(image):
        spectrum = tf.signal.fft2d(tf.cast(image, tf.complex64))
        y, x = tf.linspace(0.0, 1.0, 9), tf.linspace(0.0, 1.0, 7)
        low = tf.exp(-3.0 * (y[:, None] + x[None]))
        blurred = tf.math.real(tf.signal.ifft2d(spectrum * tf.cast(low, tf.complex64)))
        half = tf.signal.rfft2d(image, [10, 8])
        back = tf.signal.irfft2d(half, [10, 8])
        cube = tf.signal.fft3d(tf.cast(image[..., None], tf.complex64))
        return {
            "blurred": blurred,
            "power": tf.abs(half),
            "back": back,
            "conj": tf.math.imag(tf.math.conj(spectrum)),
            "cube": tf.math.real(cube),
        }

    save(path, tf.Module(), call, image=floats(None, 9, 7))


def speech_decoder(path: str) -> None:
    """CTC decoding, greedy and by beams, to strings."""
    letters = tf.constant(list("abcdefg "))

    def call(logits, lengths):
        steps = tf.transpose(logits, [1, 0, 2])
        (greedy,), score = tf.nn.ctc_greedy_decoder(steps, lengths)
        (beam,), log = tf.nn.ctc_beam_search_decoder(steps, lengths, beam_width=8, top_paths=1)
        return {
            "text": tf.strings.reduce_join(tf.gather(letters, tf.sparse.to_dense(greedy)), 1),
            "score": score,
            "beam": tf.sparse.to_dense(beam, -1),
            "log": log,
        }

    save(path, tf.Module(), call, logits=floats(None, 12, 9), lengths=integers(None))
