"""`tf.image`: the image functions that ordinary scripts need."""

from nbtf._ops.image.arranging import central_crop as central_crop
from nbtf._ops.image.arranging import flip_left_right as flip_left_right
from nbtf._ops.image.arranging import flip_up_down as flip_up_down
from nbtf._ops.image.arranging import rot90 as rot90
from nbtf._ops.image.arranging import transpose as transpose
from nbtf._ops.image.boxes import crop_to_bounding_box as crop_to_bounding_box
from nbtf._ops.image.boxes import pad_to_bounding_box as pad_to_bounding_box
from nbtf._ops.image.boxes import resize_with_crop_or_pad as resize_with_crop_or_pad
from nbtf._ops.image.boxes import resize_with_pad as resize_with_pad
from nbtf._ops.image.colors import adjust_hue as adjust_hue
from nbtf._ops.image.colors import adjust_saturation as adjust_saturation
from nbtf._ops.image.colors import hsv_to_rgb as hsv_to_rgb
from nbtf._ops.image.colors import rgb_to_hsv as rgb_to_hsv
from nbtf._ops.image.contrast import adjust_contrast as adjust_contrast
from nbtf._ops.image.crops import crop_and_resize as crop_and_resize
from nbtf._ops.image.patches import extract_patches as extract_patches
from nbtf._ops.image.patches import sobel_edges as sobel_edges
from nbtf._ops.image.resizing import ResizeMethod as ResizeMethod
from nbtf._ops.image.resizing import resize as resize
from nbtf._ops.image.values import adjust_brightness as adjust_brightness
from nbtf._ops.image.values import adjust_gamma as adjust_gamma
from nbtf._ops.image.values import convert_image_dtype as convert_image_dtype
from nbtf._ops.image.values import grayscale_to_rgb as grayscale_to_rgb
from nbtf._ops.image.values import rgb_to_grayscale as rgb_to_grayscale
