"""`tf.signal`: Fourier transforms, windows, frames and spectrograms."""

from nbtf._ops.signal.fourier import fft as fft
from nbtf._ops.signal.fourier import fft2d as fft2d
from nbtf._ops.signal.fourier import fft3d as fft3d
from nbtf._ops.signal.fourier import ifft as ifft
from nbtf._ops.signal.fourier import ifft2d as ifft2d
from nbtf._ops.signal.fourier import ifft3d as ifft3d
from nbtf._ops.signal.fourier import irfft as irfft
from nbtf._ops.signal.fourier import irfft2d as irfft2d
from nbtf._ops.signal.fourier import irfft3d as irfft3d
from nbtf._ops.signal.fourier import rfft as rfft
from nbtf._ops.signal.fourier import rfft2d as rfft2d
from nbtf._ops.signal.fourier import rfft3d as rfft3d
from nbtf._ops.signal.frames import frame as frame
from nbtf._ops.signal.frames import overlap_and_add as overlap_and_add
from nbtf._ops.signal.spectrograms import inverse_stft as inverse_stft
from nbtf._ops.signal.spectrograms import inverse_stft_window_fn as inverse_stft_window_fn
from nbtf._ops.signal.spectrograms import stft as stft
from nbtf._ops.signal.windows import hamming_window as hamming_window
from nbtf._ops.signal.windows import hann_window as hann_window
from nbtf._ops.signal.windows import kaiser_window as kaiser_window
